"""A limit of processor time for computations that may never end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTimeError(BaseException):
    """The processor time is used up. No `Exception`, so that no handler on the way mistakes it for a failed attempt."""


@contextmanager
def processor_limit(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTimeError once this process has computed for that many seconds, however busy the machine is.

    There is no limit if `seconds` is None, outside the main thread, or on systems without such a timer.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if seconds is None or not in_main_thread or not hasattr(signal, "setitimer"):
        yield
        return
    previous = signal.signal(signal.SIGPROF, _out_of_time)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous)


def _out_of_time(number: int, frame: FrameType | None) -> None:
    raise OutOfTimeError
