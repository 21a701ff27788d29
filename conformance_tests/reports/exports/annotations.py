"""Annotations that GitHub shows next to the lines of a pull request, where a workflow prints them."""

from __future__ import annotations

from collections.abc import Sequence

from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.reports.exports.outcome import Level, Outcome, Problem
from veriformer.conformance_tests.reports.locations import from_root

_COMMANDS: dict[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}
_LONGEST = 1000


def annotation_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a line for each problem that nobody expects."""
    return [_line(problem) for outcome in outcomes for problem in outcome.problems if not problem.expected]


def _line(problem: Problem) -> str:
    properties = {}
    file = from_root(problem.place.file) if problem.place is not None else None
    if problem.place is not None and file is not None:
        properties = {"file": file, "line": str(problem.place.line)}
    properties["title"] = plain(problem.rule)
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[problem.level]} {named}::{_data(plain(problem.sentence, _LONGEST))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
