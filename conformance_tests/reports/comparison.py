"""Several implementations side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import first_few, joined, plain
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS

_NOT_DECLARED = "not declared"
_UNKNOWN = "–"


def side_by_side(reports: Sequence[Report]) -> Table:
    """Return a table with a row for each operation that one of them has, and a column for each implementation."""
    table = _table("operation", reports)
    for operation in OPERATIONS:
        cells = [short_tally(_results_of(report, operation)) for report in reports]
        if any(cell not in ("", _NOT_DECLARED) for cell in cells):
            table.add_row(operation, *cells)
    return table


def different_conventions(reports: Sequence[Report]) -> Table | None:
    """Return a table of the conventions in which the implementations differ, or None where they do not."""
    table = _table("convention", reports)
    for convention in CONVENTIONS:
        cells = [_answer(report, convention) for report in reports]
        if len({cell for cell in cells if cell != _UNKNOWN}) > 1:
            table.add_row(convention, *cells)
    return table if table.row_count else None


def short_tally(results: list[LawResult]) -> str:
    """Return the counts of one operation in a few words; empty when none of its laws was selected."""
    if not results:
        return ""
    if all(result.status == "not_declared" for result in results):
        return _NOT_DECLARED
    count = Counter(result.status for result in results)
    return joined(
        [
            f"{count['passed']} {'holds' if count['passed'] == 1 else 'hold'}",
            f"{count['failed']} {'does' if count['failed'] == 1 else 'do'} not" if count["failed"] else "",
            f"{count['error']} not judged" if count["error"] else "",
            f"{count['not_declared']} not declared" if count["not_declared"] else "",
            f"{count['not_tried']} not tried" if count["not_tried"] else "",
        ]
    )


def _table(first: str, reports: Sequence[Report]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True)
    for report in reports:
        table.add_column(Text(plain(report.implementation)), overflow="fold")
    return table


def _results_of(report: Report, operation: str) -> list[LawResult]:
    return [result for result in report.results if result.law.operation.name == operation]


def _answer(report: Report, convention: str) -> str:
    """Return the value that most operations follow, and the exceptions; assumed values do not count."""
    known = [f for f in report.findings if f.convention == convention and f.how != "standard"]
    followed = Counter(plain(finding.value) for finding in known).most_common()
    if not followed:
        return _UNKNOWN
    (usual, _), *others = followed
    apart = (f"{value} in {first_few([f.operation for f in known if plain(f.value) == value])}" for value, _ in others)
    return joined([usual, *apart])
