"""The number of calls of an implementation, and their time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


def _nothing() -> None:
    """Do nothing."""


@dataclass
class Stopwatch:
    """The number of calls of an implementation and their total time; `heard` is called after each."""

    clock: Callable[[], float] = time.perf_counter
    calls: int = 0
    seconds: float = 0.0
    heard: Callable[[], None] = _nothing

    @contextmanager
    def timing(self, calls: int = 1) -> Iterator[None]:
        """Time this context, which makes `calls` calls; one that raises counts too."""
        started = self.clock()
        try:
            yield
        finally:
            self.seconds += self.clock() - started
            self.calls += calls
            self.heard()
