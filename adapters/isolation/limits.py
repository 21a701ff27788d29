"""What a worker may use."""

from __future__ import annotations

from dataclasses import dataclass, replace

GIBIBYTE = 2**30


@dataclass(frozen=True)
class ProcessLimits:
    """The limits of one worker.

    `seconds`: for one call.
    `memory`: the bytes that calls may take, beyond those that loading took.
    `loading`: the seconds for loading, which is slow when a framework is read from disk for the first time.
    """

    seconds: float = 10.0
    memory: int = 4 * GIBIBYTE
    loading: float = 60.0

    def changed(self, seconds: float | None, memory: int | None) -> ProcessLimits:
        """Return limits with other seconds and bytes for calls; None leaves one as it is."""
        return replace(
            self,
            seconds=self.seconds if seconds is None else seconds,
            memory=self.memory if memory is None else memory,
        )
