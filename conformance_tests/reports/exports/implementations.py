"""The outcome of checking an implementation of operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from veriformer.conformance_tests.core.text import counted, joined
from veriformer.conformance_tests.reports.exports.laws import by_operation, checked_laws, problems_with_laws
from veriformer.conformance_tests.reports.exports.outcome import Checked, Outcome, Problem, Table
from veriformer.conformance_tests.run.report import Report

_HEADER = ("operation", "hold", "violated", "not judged", "not tried", "not declared")


def implementation_outcome(report: Report) -> Outcome:
    """Return the outcome of checking an implementation."""
    problems = tuple(problems_with_laws(report))
    stale = (
        Checked("expected_failures", f"stale {number}", "failed", sentence)
        for number, sentence in enumerate(report.stale, 1)
    )
    return Outcome(
        report.implementation,
        _sentence(report, problems),
        report.verdict == "conforms",
        joined([report.framework, f"seed {report.seed}", f"tier {report.tier}"]),
        (*_or_nothing([*checked_laws(report), *stale]),),
        problems,
        law_table(report),
        report.notices,
        report.seconds,
    )


def law_table(report: Report) -> Table | None:
    """Return the counts of each declared operation."""
    undeclared = Counter(one.law.operation.name for one in report.results if one.status == "not_declared")
    rows = []
    for operation, results in by_operation(report).items():
        statuses = Counter(result.status for result in results)
        counts = [statuses[status] for status in ("passed", "failed", "error", "not_tried")]
        rows.append((operation, *map(str, counts), str(undeclared[operation])))
    return Table(_HEADER, tuple(rows)) if rows else None


def _or_nothing(checked: Sequence[Checked]) -> Sequence[Checked]:
    # A run in which nothing could be judged must not look like one in which nothing is wrong.
    return checked or [Checked("veriformer", "laws", "error", "no law was judged: none of those selected is declared")]


def _sentence(report: Report, problems: Sequence[Problem]) -> str:
    """Return what was found in one sentence."""
    name, counts = report.implementation, report.counts
    if report.verdict == "conforms":
        expected = sum(one.expected_failure is not None for one in report.results)
        known = f"; {counted(expected, 'failure')} expected" if expected else ""
        return f"{name} conforms: {counted(counts['passed'], 'law')} held{known}"
    unexpected = [one for one in problems if not one.expected]
    if report.verdict == "violates" and unexpected:
        more = f"; and {counted(len(unexpected) - 1, 'other problem')}" if len(unexpected) > 1 else ""
        return f"{name} does not conform: {unexpected[0].sentence}{more}"
    if counts["not_tried"]:
        return f"{name} was not judged: {counted(counts['not_tried'], 'law')} of {counts['laws']:,} not tried"
    return f"{name} was not judged: it declares none of the selected laws"
