"""What a reader asked to see."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.reports.layout import DEFAULT_WIDTH


@dataclass(frozen=True)
class Options:
    """How much is shown: `verbose` every case, convention and script, `traceback` the implementation's tracebacks.

    `repair` is the command that removes what is stale from a list of expected failures.
    """

    verbose: bool = False
    traceback: bool = False
    width: int = DEFAULT_WIDTH
    repair: str = ""
