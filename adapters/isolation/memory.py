"""The memory that a worker may take."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

_SIZES = Path("/proc/self/statm")


def limit_memory(more: int) -> None:
    """Let this process take so many bytes beyond those that it has, where the system tells how many those are."""
    # A process that crashes leaves no copy of its memory behind.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not _SIZES.exists():
        return
    pages = int(_SIZES.read_text().split()[0])
    _, highest = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + more
    if highest != resource.RLIM_INFINITY:
        wanted = min(wanted, highest)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (wanted, highest))
