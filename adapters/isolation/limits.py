"""What a worker may use."""

from __future__ import annotations

from dataclasses import dataclass, replace

GIBIBYTE = 2**30


@dataclass(frozen=True)
class ProcessLimits:
    """The limits of one worker.

    `seconds`: for one call.
    `memory`: the bytes that calls may take, beyond those that loading took.
    `loading`: the seconds for loading, which is slow when a framework is read from disk for the first time, or when the
        file compiles code as it is imported.
    `compiling`: the seconds for the first call of a shape, which may be compiled.
    """

    seconds: float = 10.0
    memory: int = 4 * GIBIBYTE
    loading: float = 60.0
    compiling: float = 60.0

    def changed(self, seconds: float | None, memory: int | None, loading: float | None = None) -> ProcessLimits:
        """Return limits with other seconds and bytes for calls, and seconds for loading; None leaves one as it is."""
        return replace(
            self,
            seconds=self.seconds if seconds is None else seconds,
            memory=self.memory if memory is None else memory,
            loading=self.loading if loading is None else loading,
        )
