"""The memory that a worker may take."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

from veriformer.adapters.errors import describe

_SIZES = Path("/proc/self/statm")


# A process is short of memory when less than this part of its limit is left.
_LAST_PART = 4
# The words of frameworks that raise other exceptions than MemoryError.
_SHORTAGE = (
    *("bad_alloc", "out of memory", "not enough memory", "cannot allocate memory", "can't allocate memory"),
    "failed to map segment",
)


def is_short(error: BaseException, more: int) -> bool:
    """Return whether the memory limit caused an exception, by its type, its message, or the memory in use."""
    if isinstance(error, MemoryError):
        return True
    message = describe(error).lower()
    if any(words in message for words in _SHORTAGE):
        return True
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return soft != resource.RLIM_INFINITY and _SIZES.exists() and _taken() > soft - more // _LAST_PART


def _taken() -> int:
    return int(_SIZES.read_text().split()[0]) * resource.getpagesize()


def limit_memory(more: int) -> None:
    """Limit this process to `more` bytes beyond those that it has, if the system reports them."""
    # A crash must not write a core file.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not _SIZES.exists():
        return
    _, highest = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _taken() + more
    if highest != resource.RLIM_INFINITY:
        wanted = min(wanted, highest)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (wanted, highest))


def limit_data(most: int) -> None:
    """Limit the memory that this process may write to `most` bytes, if the system counts it.

    Unlike `limit_memory`, this may come before frameworks are imported: what they reserve without using is not counted.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, highest = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = most if highest == resource.RLIM_INFINITY else min(most, highest)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, highest))
