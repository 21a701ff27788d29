"""What a worker may use."""

from __future__ import annotations

from dataclasses import dataclass

GIBIBYTE = 2**30


@dataclass(frozen=True)
class Limits:
    """The seconds that one call may take, the bytes that calls may take beyond those of loading, its seconds.

    Loading takes long where a framework is imported, and read from a disk for the first time.
    """

    seconds: float = 10.0
    memory: int = 4 * GIBIBYTE
    loading: float = 60.0
