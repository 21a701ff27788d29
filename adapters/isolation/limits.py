"""What a worker may use."""

from __future__ import annotations

from dataclasses import dataclass

GIBIBYTE = 2**30
_LOADING_TAKES_LONGER = 6


@dataclass(frozen=True)
class Limits:
    """The seconds that one call may take, and the bytes that a worker may take beyond those of loading."""

    seconds: float = 10.0
    memory: int = 4 * GIBIBYTE

    @property
    def loading_seconds(self) -> float:
        """The seconds that loading may take: a framework is imported, and files are read for the first time."""
        return _LOADING_TAKES_LONGER * self.seconds
