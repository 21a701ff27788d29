"""What commands print on: standard output, in colour where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def standard_output(*, color: bool = True) -> Console:
    """Return the console of standard output."""
    from veriformer.conformance_tests.reports.screen import open_console

    return open_console(sys.stdout, color=color)


def print_page(lines: Iterable[Text]) -> None:
    """Print lines on standard output."""
    from veriformer.conformance_tests.reports.screen import print_lines

    print_lines(standard_output(), lines)
