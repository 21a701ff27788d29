"""The command line. Importing it, and asking for help, loads neither NumPy nor SymPy nor any framework."""

from __future__ import annotations

import sys

# Imported by type checkers alone: `typing` takes long enough for an interrupt to fall into it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 all well, 1 a law or derivation does not hold, 2 it could not run.

    An interrupt ends it with status 130, also while its own modules are still being imported.
    """
    try:
        from veriformer.cli.application import main as run

        run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted\n")
        sys.exit(130)
