"""Where JAX keeps what it compiled of the built-in implementations, so that the next run need not compile it again."""

from __future__ import annotations

import os
import platform
import warnings
import zlib
from collections.abc import Mapping
from pathlib import Path

_FOLDER = "JAX_COMPILATION_CACHE_DIR"
_CPU = Path("/proc/cpuinfo")
# Compiling takes a tenth of a second for each of the suite's small shapes, which by default is too little to be kept.
_KEEP_ALL = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


def variables(packages: tuple[str, ...]) -> Mapping[str, str]:
    """Return the environment in which JAX is to be imported for a built-in implementation; nothing if it is not needed.

    Whoever has a cache of their own keeps that, and JAX_ENABLE_COMPILATION_CACHE=false turns both off. JAX knows its
    own version, and compiles anew what it cannot read; what one processor compiled another may not be able to run, so
    each kind of processor has a folder.
    """
    if "jax" not in packages or _FOLDER in os.environ:
        return {}
    from platformdirs import user_cache_path

    return {_FOLDER: str(user_cache_path("veriformer") / "jax" / _processor()), **_KEEP_ALL}


def ignore_unreadable_entries() -> None:
    """Let JAX compile anew without a word what another process has not finished writing, or was killed over."""
    warnings.filterwarnings("ignore", message="Error reading persistent compilation cache entry")


def _processor() -> str:
    """Return a name for what the processor can do."""
    try:
        lines = _CPU.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    told = next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return f"{platform.machine()}-{zlib.crc32(told.encode()):08x}"
