"""How much of a report is shown."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.reports.layout import DEFAULT_WIDTH


@dataclass(frozen=True)
class Options:
    """How much of a report is shown, and how.

    `verbose`: every case, convention and script.
    `compact`: of a broken law only what one screen has room for.
    `traceback`: the implementation's tracebacks.
    `width`: the columns of a page.
    `repair`: the command that removes stale lines from a list of expected failures.
    """

    verbose: bool = False
    compact: bool = False
    traceback: bool = False
    width: int = DEFAULT_WIDTH
    repair: str = ""
