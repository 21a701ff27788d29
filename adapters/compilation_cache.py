"""The folder in which JAX caches what it has compiled of an implementation, for the next run."""

from __future__ import annotations

import os
import platform
import sys
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_FOLDER = "JAX_COMPILATION_CACHE_DIR"
_CPU = Path("/proc/cpuinfo")
# Compiling takes a tenth of a second for each of the suite's small shapes, which by default is too little to be kept.
_KEEP_ALL = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
# Every change of a file leaves entries behind that are never used again.
_MOST_BYTES = 2**29


@contextmanager
def kept() -> Iterator[None]:
    """Load an implementation in this context: what JAX compiles of it is kept, unless it is kept elsewhere already.

    A program that imports JAX here finds a folder in its environment; where JAX was imported before, it is given one
    afterwards. A cache of the user's own, set in the environment or by the program itself, stays, and
    JAX_ENABLE_COMPILATION_CACHE=false turns both off. JAX knows its own version, and compiles anew what it cannot read;
    what one processor compiled another may not be able to run, so each kind of processor has a folder.
    """
    if _FOLDER in os.environ:
        yield
        return
    with environment(_variables()):
        yield
    if "jax" in sys.modules:
        # A file may have replaced JAX, or JAX may have failed to be imported.
        _settle(getattr(sys.modules["jax"], "config", None))


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables and restore them afterwards, except one that was changed meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if os.environ.get(name) != variables[name]:
                continue
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def thin_out(folder: Path, most_bytes: int = _MOST_BYTES) -> None:
    """If the allowance is exceeded, delete the least recently used entries until half of it is left."""
    with suppress(OSError):
        entries = [(status.st_size, max(status.st_atime, status.st_mtime), path) for path, status in _listed(folder)]
        left = sum(size for size, *_ in entries)
        if left <= most_bytes:
            return
        for size, _, path in sorted(entries, key=lambda entry: entry[1]):
            if left <= most_bytes // 2:
                break
            path.unlink(missing_ok=True)
            left -= size


def _listed(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            # Another process may delete an entry that this one has seen.
            with suppress(FileNotFoundError):
                yield Path(entry.path), entry.stat()


def _variables() -> dict[str, str]:
    from platformdirs import user_cache_path

    return {_FOLDER: str(user_cache_path("veriformer") / "jax" / _processor()), **_KEEP_ALL}


def _settle(config: object) -> None:
    """Give JAX the folder where it has none, and let it compile anew without a word what it can neither read nor write.

    An entry may be one that another process has not finished writing, or was killed over; the disk may be full.
    """
    ours = _variables()
    if getattr(config, "jax_compilation_cache_dir", None) is None:
        # Else as it was imported; what was given to another implementation of this process is here already.
        _update(config, ours)
    if getattr(config, "jax_compilation_cache_dir", None) != ours[_FOLDER]:
        return
    for what in ("reading", "writing"):
        warnings.filterwarnings("ignore", message=f"Error {what} persistent compilation cache entry")
    _thin_out_once(ours[_FOLDER])


@cache
def _thin_out_once(folder: str) -> None:
    thin_out(Path(folder))


def _update(config: object, variables: Mapping[str, str]) -> None:
    # A module that is merely named jax has no configuration.
    update = getattr(config, "update", None)
    if update is None:
        return
    update("jax_compilation_cache_dir", variables[_FOLDER])
    update("jax_persistent_cache_min_compile_time_secs", 0.0)
    update("jax_persistent_cache_min_entry_size_bytes", -1)


def _processor() -> str:
    """Return a name for the features of the processor."""
    try:
        lines = _CPU.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return f"{platform.machine()}-{zlib.crc32(features.encode()):08x}"
