"""The outcome of asking an implementation which conventions it obeys."""

from __future__ import annotations

from veriformer.conformance_tests.conventions.identification import Identification
from veriformer.conformance_tests.core.text import counted, first_few
from veriformer.conformance_tests.reports.exports.outcome import Outcome, Problem, Table
from veriformer.conformance_tests.reports.identified import WORDS, grouped, summary
from veriformer.conformance_tests.reports.locations import definition

_MOST_OPERATIONS = 4
_HEADER = ("convention", "value", "how it is known", "answer", "in")


def identification_outcome(found: Identification) -> Outcome:
    """Return the outcome for an implementation."""
    problems = tuple(
        Problem(item.convention, "error", item.reason, item.operation, definition(found.implementation, item.operation))
        for item in found.conventions
        if item.told == "contradicted"
    )
    rows = []
    for group in grouped(list(found.conventions)):
        first, names = group[0], [item.operation for item in group]
        shown = first_few(names, _MOST_OPERATIONS)
        rows.append((first.convention, first.value, first.how, WORDS[first.told][0], shown))
    return Outcome(
        found.implementation,
        f"{found.implementation}: {summary(found)}",
        not problems and bool(found.operations),
        ", ".join([found.framework, counted(len(found.operations), "operation")]),
        problems=problems,
        table=Table(_HEADER, tuple(rows)) if rows else None,
    )
