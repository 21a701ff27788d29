"""What all processes started by the suite have in common: they end with the suite, in a way that can be reported."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# From <linux/prctl.h>.
_SET_PARENT_DEATH_SIGNAL = 1


@dataclass(frozen=True)
class Ending:
    """How a process ended: its exit status, or the negative number of the signal that ended it."""

    status: int

    @property
    def signal(self) -> str:
        """The name of the signal that ended the process; empty where it ended by itself."""
        if self.status >= 0:
            return ""
        try:
            return signal.Signals(-self.status).name
        except ValueError:
            return f"signal {-self.status}"

    def __str__(self) -> str:
        return self.signal or f"exit status {self.status}"

    def sentence(self) -> str:
        """Return the predicate of a sentence about the call that ended its process."""
        if not self.signal:
            return f"ended its process with status {self.status}"
        return f"ended its process by {self.signal}{', perhaps for want of memory' * (self.signal == 'SIGKILL')}"


class Interrupted(KeyboardInterrupt):
    """The suite does not wait any longer; what the implementation began is undone, as by Ctrl-C."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise Interrupted in this context where the process is asked to end, so that a build removes its locks."""

    def stop(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def lasting_parent() -> int | None:
    """Return the number of this process for `end_with` in a child; None in a thread that the child may outlive.

    Linux ends the child with the thread that started it, and only the main thread lasts as long as the process.
    """
    return os.getpid() if threading.current_thread() is threading.main_thread() else None


def end_with(parent: int | None) -> None:
    """Have this process killed when `parent` ends, by a signal that cannot be ignored; do nothing on other systems."""
    if parent is None or not sys.platform.startswith("linux"):
        return
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:
        # It ended before it could be asked for.
        os._exit(0)
