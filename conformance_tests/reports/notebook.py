"""Results as cards of a notebook: the verdict, counts, and what is wrong with the picture of its smallest case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from veriformer.conformance_tests.comparison.comparison import Comparison
from veriformer.conformance_tests.conventions.identification import Identification
from veriformer.conformance_tests.core.law_result import LawResult, Status, is_unexpected
from veriformer.conformance_tests.core.ranking import most_telling_first
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.diagnosis.explanation import explanations
from veriformer.conformance_tests.ports.findings import PortComparison
from veriformer.conformance_tests.reports import ports
from veriformer.conformance_tests.reports.console import summary
from veriformer.conformance_tests.reports.diagnoses import findings_of
from veriformer.conformance_tests.reports.grids import error_bar
from veriformer.conformance_tests.reports.model import counts_sentence, verdict_sentence
from veriformer.conformance_tests.reports.places import shown_file
from veriformer.conformance_tests.reports.two_implementations import outcome_words
from veriformer.conformance_tests.reports.two_implementations import summary as comparison_summary
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report
from veriformer.pictures.from_arrays import compared
from veriformer.pictures.html import Entry, card
from veriformer.pictures.model import Cell, Grid, Mark, Node, Tree
from veriformer.pictures.model import Status as NodeStatus

_MOST_OPERATIONS = 3
_LAW_COLUMNS: dict[Status, str] = {
    "passed": "hold",
    "failed": "violated",
    "error": "errors",
    "not_declared": "not declared",
    "not_tried": "not tried",
}
_PAIRS: dict[str, NodeStatus] = {
    "same": "holds",
    "inside": "holds",
    "differs": "departs",
    "unmatched": "unrecognised",
}


def report_card(report: Report) -> str:
    """Return the verdict, the counts of each operation, and the first violated law of the first few that have any."""
    broken = [name for name, results in _by_operation(report.results).items() if any(map(is_unexpected, results))]
    entries = [Entry(summary(report).plain)]
    for name in broken[:_MOST_OPERATIONS]:
        entries += _broken_operation(report, name)
    if len(broken) > _MOST_OPERATIONS:
        entries.append(Entry(f"{len(broken) - _MOST_OPERATIONS} more operations violate laws"))
    return card(report.headline, *entries, Entry(_counts(report.results)), *_notices(report.notices))


def model_card(report: ModelReport) -> str:
    """Return the verdict on a model, its departures, and the tree of its parts."""
    departures = [
        Entry(plain(one.sentence, 400), plain(f"{one.path} {_place(one.file, one.line)}".strip()))
        for one in report.departures
    ]
    parts = tuple(Node(plain(part.path), plain(part.summary), part.status) for part in report.parts)
    tree = [Entry(Tree("parts", parts))] if parts else []
    return card(verdict_sentence(report), Entry(counts_sentence(report)), *departures, *tree, *_notices(report.notices))


def port_card(found: PortComparison) -> str:
    """Return the verdict on two models, what the second must change, and their parts."""
    changes = [Entry(plain(change, 400), "change") for change in found.changes]
    nodes = tuple(
        Node(plain(" ↔ ".join(filter(None, (one.path_a, one.path_b)))), plain(one.summary), _PAIRS[one.status])
        for one in found.pairs
    )
    tree = [Entry(Tree("parts", nodes))] if nodes else []
    return card(
        ports.verdict_sentence(found), Entry(ports.counts_sentence(found)), *changes, *tree, *_notices(found.notices)
    )


def comparison_card(comparison: Comparison) -> str:
    """Return the verdict on two implementations, the outcome of each operation, and what the second must change."""
    rows = tuple(
        (Cell(f"{one.cases:,}"), Cell(outcome_words(one, comparison), "plain" if one.agrees else "wrong"))
        for one in comparison.operations
    )
    names = tuple(one.operation.name for one in comparison.operations)
    changes = dict.fromkeys(change for one in comparison.operations for change in one.changes.values())
    table = [Entry(Grid("operations", rows, row_labels=names, column_labels=("cases", "outcome")))] if rows else []
    return card(
        comparison.headline,
        Entry(comparison_summary(comparison)),
        *table,
        *(Entry(plain(change, 400), "change") for change in changes),
        *_notices(comparison.notices),
    )


def identification_card(identification: Identification) -> str:
    """Return each convention with its value and how it is known; what is held against it is marked."""
    marks: dict[str, Mark] = {"mistake": "wrong", "contradicted": "wrong"}
    rows = tuple(
        (Cell(item.operation), Cell(item.value), Cell(item.how), Cell(item.told, marks.get(item.told, "plain")))
        for item in identification.conventions
    )
    names = tuple(item.convention for item in identification.conventions)
    columns = ("operation", "value", "known as", "shown by calls")
    reasons = [
        Entry(plain(item.reason, 400), f"{item.convention} of {item.operation}")
        for item in identification.conventions
        if item.told in marks
    ]
    table = [Entry(Grid("conventions", rows, row_labels=names, column_labels=columns))] if rows else []
    return card(identification.headline, *reasons, *table)


def _broken_operation(report: Report, name: str) -> Iterator[Entry]:
    for diagnosis in report.diagnoses:
        if diagnosis.operation == name and diagnosis.suspects:
            yield Entry(_suspected(report, diagnosis), "mistake")
    results = _by_operation(report.results)[name]
    first, *others = [*most_telling_first(results), *(one for one in results if one.status == "error")]
    yield Entry(f"{first.law.id}: {first.law.statement}", "violated")
    yield Entry(first.law.formula, "formula", code=True)
    if first.reason:
        yield Entry(plain(first.reason, 400))
    if first.counterexample is not None:
        case = first.counterexample.case
        if case is not None:
            yield Entry(plain(case.describe(), 400), "smallest case")
        yield from _pictures(first.counterexample.verdict)
    if others:
        yield Entry(f"{counted(len(others), 'more law', 'more laws')} of {name}", "also violated")


def _suspected(report: Report, diagnosis: Diagnosis) -> str:
    """Return the likeliest mistakes of an operation, each with its sentence."""
    known = explanations(diagnosis.operation, diagnosis.suspects[0], findings_of(report, diagnosis.operation))
    said = "; ".join(plain(f"{one.name}: {one.sentence.rstrip('.')}", 400) for one in known)
    return said if diagnosis.is_certain else f"perhaps {said}"


def _pictures(verdict: Verdict) -> Iterator[Entry]:
    """Yield expected, got and difference, and the error beside what rounding explains; or both in words."""
    if isinstance(verdict.expected, str) or isinstance(verdict.actual, str) or verdict.wrong is None:
        yield Entry(plain(str(verdict.expected), 400), "expected")
        yield Entry(plain(str(verdict.actual), 400), "got")
        return
    yield Entry(compared("", verdict.expected, verdict.actual, verdict.wrong))
    if bar := error_bar(verdict):
        yield Entry(bar)


def _counts(results: Sequence[LawResult]) -> Grid:
    """Return how many laws of each operation have each status; statuses that none has are left out."""
    operations = _by_operation(results)
    present = {result.status for result in results}
    columns = {status: label for status, label in _LAW_COLUMNS.items() if status in present}
    rows = tuple(
        tuple(_count(status, Counter(result.status for result in found)[status]) for status in columns)
        for found in operations.values()
    )
    return Grid("laws", rows, row_labels=tuple(operations), column_labels=tuple(columns.values()))


def _count(status: Status, count: int) -> Cell:
    return Cell(str(count), "wrong" if count and status in ("failed", "error") else "plain")


def _by_operation(results: Sequence[LawResult]) -> dict[str, list[LawResult]]:
    found: dict[str, list[LawResult]] = {}
    for result in results:
        found.setdefault(result.law.operation.name, []).append(result)
    return found


def _notices(notices: Sequence[str]) -> list[Entry]:
    return [Entry(plain(notice, 400), "notice") for notice in notices]


def _place(file: str, line: int) -> str:
    return f"({shown_file(file)}:{line})" if file else ""
