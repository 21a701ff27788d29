"""A process that ends when the one that started it does."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

# From <linux/prctl.h>.
_SET_PARENT_DEATH_SIGNAL = 1


def end_with(parent: int) -> None:
    """Have this process killed when `parent` ends, by a signal that cannot be ignored; on other systems do nothing."""
    if not sys.platform.startswith("linux"):
        return
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:
        # It ended before it could be asked for.
        os._exit(0)
