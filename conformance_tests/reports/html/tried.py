"""What was tried: the laws of each operation by their outcome, those that hold, and what was not declared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from veriformer.conformance_tests.core.law_result import LawResult, Status
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.reports.comparison import short_tally
from veriformer.conformance_tests.reports.html.blocks import (
    Block,
    Fold,
    LawList,
    LawRow,
    Marks,
    Prose,
    Section,
    Sentence,
    Table,
)
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.operations import OPERATIONS

_HEADER = ("operation", "hold", "broken", "could not be judged", "not declared", "not tried", "cases")
_COUNTED: tuple[Status, ...] = ("passed", "failed", "error", "not_declared", "not_tried")
# Of more laws only the names are listed: a page that is sent to someone stays small.
_MOST_STATEMENTS = 250
_LONGEST_REASON = 400


def tried_section(report: Report, *, in_short: bool = False) -> Section:
    """Return the laws that were tried, by operation."""
    groups = by_operation(report.results)
    declared = {name: results for name, results in groups.items() if any(map(_was_declared, results))}
    rows = [_row(name, results) for name, results in declared.items()]
    blocks: list[Block] = [_without_empty_columns(rows)] if rows else [Prose("No operation.")]
    many = sum(result.status == "passed" for result in report.results) > _MOST_STATEMENTS
    for name, results in declared.items():
        blocks += _of_operation(name, results, with_statements=not (many or in_short))
    return Section("tried", "What was tried", tuple(blocks))


def undeclared_section(report: Report) -> Section | None:
    """Return what the implementation does not declare: laws without their feature, and whole operations."""
    missing = [result for result in report.results if result.status == "not_declared"]
    if not missing:
        return None
    blocks = []
    for name, results in by_operation(missing).items():
        reasons = Counter(plain(result.reason, _LONGEST_REASON) for result in results)
        text = "; ".join(f"{reason or 'not declared'} ({counted(number, 'law')})" for reason, number in reasons.items())
        blocks.append((name, text))
    table = Table("", ("operation", "why its laws were not tried"), tuple(blocks))
    summary = f"{counted(len(missing), 'law')} of {counted(len(blocks), 'operation')}"
    return Section("not-declared", "Not declared", (Fold(summary, (table,)),))


def several_section(reports: Sequence[Report]) -> Section:
    """Return several implementations side by side: a row for each operation that one of them has."""
    names = tuple(plain(report.implementation) for report in reports)
    groups = [by_operation(report.results) for report in reports]
    rows = []
    for operation in OPERATIONS:
        cells = tuple(short_tally(group.get(operation, [])) for group in groups)
        if any(cell not in ("", "not declared") for cell in cells):
            rows.append((operation, *cells))
    # Twenty columns are wider than any screen; so many implementations are the rows.
    if len(names) > len(rows):
        columns = tuple(row[0] for row in rows)
        turned = tuple(zip(*(row[1:] for row in rows), strict=True)) if rows else ()
        return _section(
            ("implementation", *columns), tuple((name, *cells) for name, cells in zip(names, turned, strict=False))
        )
    return _section(("operation", *names), tuple(rows))


def _section(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Section:
    return Section("side-by-side", "Side by side", (Table("Laws of each operation", header, rows),))


def by_operation(results: Sequence[LawResult]) -> dict[str, list[LawResult]]:
    """Return results by the name of their operation."""
    groups: dict[str, list[LawResult]] = {}
    for result in results:
        groups.setdefault(result.law.operation.name, []).append(result)
    return groups


def _was_declared(result: LawResult) -> bool:
    return result.status != "not_declared"


def _row(name: str, results: Sequence[LawResult]) -> tuple[str, ...]:
    statuses = Counter(result.status for result in results)
    cases = sum(result.cases for result in results)
    return (name, *(f"{statuses[one]:,}" if statuses[one] else "" for one in _COUNTED), f"{cases:,}")


def _without_empty_columns(rows: Sequence[tuple[str, ...]]) -> Table:
    kept = [column for column in range(len(_HEADER)) if any(row[column] for row in rows)]
    cells = tuple(tuple(row[column] for column in kept) for row in rows)
    return Table("Laws of each operation", tuple(_HEADER[column] for column in kept), cells)


def _of_operation(name: str, results: Sequence[LawResult], *, with_statements: bool) -> Iterator[Block]:
    passed = [result for result in results if result.status == "passed"]
    if passed:
        marks = Marks((), (name,), "held")
        rows = tuple(LawRow(one.law.id, Sentence(one.law.statement) if with_statements else "") for one in passed)
        holds = "holds" if len(passed) == 1 else "hold"
        yield Fold(f"{name}: {counted(len(passed), 'law')} {holds}", (LawList(rows, marks),), marks=marks)
    left = [result for result in results if result.status == "not_tried"]
    if left:
        marks = Marks((), (name,), "untried")
        rows = tuple(LawRow(one.law.id, Sentence(one.law.statement), note=plain(one.reason)) for one in left)
        yield Fold(f"{name}: {counted(len(left), 'law')} not tried", (LawList(rows, marks),), marks=marks)
