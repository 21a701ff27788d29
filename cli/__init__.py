"""The command line. Importing it, and asking for help, loads neither NumPy nor SymPy nor any framework."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys

# Imported by type checkers alone: `typing` takes long enough for an interrupt to fall into it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 all well, 1 a law or derivation does not hold, 2 it could not run.

    An interrupt ends it with status 130, also while its own modules are still being imported.
    """
    try:
        from veriformer.cli.application import main as run

        run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted before anything was done\n")
    except SystemExit as end:
        if end.code != _INTERRUPTED:
            raise
    if arguments is None:
        _leave()
    sys.exit(_INTERRUPTED)


def _leave() -> None:
    """End the process with the status of an interrupt, after what is to be done at its end.

    Where the interrupt fell into an `exec`, Python would end itself by the signal, in place of the status.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(_INTERRUPTED)
