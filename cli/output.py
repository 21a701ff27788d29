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


WIDEST_PAGE = 100
"""Pages of text are not wider, however wide the terminal is."""


def standard_output(*, color: bool = True) -> Console:
    """Return the console of standard output."""
    from veriformer.conformance_tests.reports.screen import open_console

    return open_console(sys.stdout, color=color)


def page_width() -> int:
    """Return how many columns a page of text has: those of the terminal, and not too many of them to read."""
    return min(WIDEST_PAGE, standard_output().width) if sys.stdout.isatty() else WIDEST_PAGE


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
