"""The number of calls of an implementation, and their time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Stopwatch:
    """The number of calls of an implementation, their total time, and that of the longest, which may set things up."""

    clock: Callable[[], float] = time.perf_counter
    calls: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    @contextmanager
    def timing(self, calls: int = 1) -> Iterator[None]:
        """Time this context, which makes `calls` calls; one that raises counts too."""
        started = self.clock()
        try:
            yield
        finally:
            took = self.clock() - started
            self.seconds += took
            self.longest = max(self.longest, took)
            self.calls += calls
