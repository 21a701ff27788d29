"""One sentence about an implementation that fails while it is imported."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from traceback import FrameSummary, extract_tb

from veriformer.adapters.arrays import FRAMEWORKS
from veriformer.adapters.errors import LoadError, describe, install_hint

_THIS_ROOM = str(Path(__file__).parent)


def import_failed(place: str, error: BaseException) -> LoadError:
    """Return the error that says which exception ended the import, at which line, and what to do about it."""
    return LoadError(f"{place} cannot be imported: {describe(error)}{location(error)}; {_remedy(error)}")


def _remedy(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return 'it ends the program when imported: put that under `if __name__ == "__main__":`'
    if isinstance(error, ModuleNotFoundError) and error.name in FRAMEWORKS:
        return install_hint(error.name)
    if isinstance(error, ImportError) and "libmlx" in str(error):
        # On Linux its kernels are a package of their own.
        return f"{install_hint('mlx')}, or the build of mlx for your GPU"
    if isinstance(error, ModuleNotFoundError):
        return f"install {error.name}, or put it next to the file"
    if isinstance(error, ImportError) and "no known parent package" in str(error):
        return "a file in a package is named by its import path, package.module"
    return "correct it, then run again"


def location(error: BaseException) -> str:
    """Return the innermost line of the user's code that an error came from, in brackets; empty where there is none."""
    if isinstance(error, SyntaxError):
        # Its message names the file and the line already.
        return ""
    frames = [frame for frame in extract_tb(error.__traceback__) if not _is_machinery(frame)]
    own = [frame for frame in frames if not _is_library(frame)] or frames
    return f" (line {own[-1].lineno} of {Path(own[-1].filename).name})" if own else ""


def _is_machinery(frame: FrameSummary) -> bool:
    return frame.filename.startswith(("<frozen importlib", _THIS_ROOM)) or "/importlib/" in frame.filename


def _is_library(frame: FrameSummary) -> bool:
    libraries = (sysconfig.get_path(kind) for kind in ("purelib", "platlib", "stdlib"))
    return any(frame.filename.startswith(folder) for folder in libraries)
