"""Standard output, in colour where it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from veriformer.cli.failures import OutputLost

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def standard_output(*, color: bool = True) -> Console:
    """Return the console of standard output."""
    from veriformer.conformance_tests.reports.screen import open_console

    return open_console(sys.stdout, color=color)


@contextmanager
def printing() -> Iterator[None]:
    """Raise OutputLost if standard output cannot be written; a closed pipe is not an error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(f"cannot write standard output: {error.strerror or error}", error) from error


def print_page(lines: Iterable[Text]) -> None:
    """Print lines on standard output; OutputLost where that cannot be written."""
    from veriformer.conformance_tests.reports.screen import print_lines

    with printing():
        print_lines(standard_output(), lines)
