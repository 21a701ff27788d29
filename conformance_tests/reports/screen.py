"""Where a page is printed: a terminal with its colours and width, or plain text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn, TextIO

from rich.console import Console
from rich.text import Text
from veriformer.conformance_tests.reports.layout import DEFAULT_WIDTH

WIDEST = 120
NARROWEST = 40


class Screen(Console):
    """A console that leaves a closed pipe to the program."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise BrokenPipeError; rich would end the program with status 1, which means a violation here."""
        raise BrokenPipeError


def open_console(stream: TextIO, *, color: bool = True) -> Screen:
    """Return a console on a stream; plain text of width 100 if that is not a terminal."""
    # None leaves the colours to NO_COLOR and TERM.
    console = Screen(
        file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True, no_color=None if color else True
    )
    console.width = max(NARROWEST, min(console.width, WIDEST)) if stream.isatty() else DEFAULT_WIDTH
    return console


def print_lines(console: Console, lines: Iterable[Text]) -> None:
    """Print lines without wrapping them."""
    for line in lines:
        console.print(line, soft_wrap=True)
