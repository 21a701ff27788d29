"""One law that does not hold: its statement, the smallest case, the expected and the received result."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.text import Text
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.reports.arguments import same
from veriformer.conformance_tests.reports.arrays import arguments_by_name, drawn
from veriformer.conformance_tests.reports.difference import (
    Row,
    RowComparison,
    compared,
    error_sentence,
    excess_sentence,
)
from veriformer.conformance_tests.reports.gist import mistake_names
from veriformer.conformance_tests.reports.layout import (
    INDENT,
    LABEL,
    Lines,
    beside,
    entry,
    fitting,
    headed,
    labelled,
    paragraph,
)
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.sight import sight
from veriformer.conformance_tests.reports.snippet import reproduce
from veriformer.conformance_tests.reports.targets import target
from veriformer.conformance_tests.run.report import Report
from veriformer.pictures.model import ErrorBar
from veriformer.pictures.terminal import lines as lines_of
from veriformer.spec.operations import Operation

CROSS = "✗"
EAGER_ALLOWS = (
    "fused numerics do not allow this, eager ones would: a logit, an exponential or a sum is rounded to 16 bits, or "
    "wrong by no more than such rounding"
)
_MOST_CALLS = 2
_MOST_ROWS = 3
_MOST_ROWS_VERBOSE = 12
_ORDINALS = ("first call", "second call", "third call", "fourth call")


def violation(report: Report, result: LawResult, options: Options) -> Lines:
    """Return everything about one violated law."""
    if not options.compact:
        return [*title(result, options.width), *evidence(report, result, options)]
    first = headed(f"{CROSS} {result.law.id}", result.law.statement, options.width, "bold red")
    return [*first, *evidence(report, result, options)]


def evidence(report: Report, result: LawResult, options: Options) -> Lines:
    """Return the case on which a law fails, the expected and the received result."""
    counterexample = result.counterexample
    if counterexample is None:
        return []
    operation = result.law.operation
    # What is wrong comes before the calls, which may fill a screen.
    lines = smallest_case(counterexample, options.width)
    picture = sight(report, result, options.width)
    lines += picture
    lines += outcome(counterexample, operation, options)
    if counterexample.verdict.note:
        lines += entry("where", plain(counterexample.verdict.note), options.width)
    if counterexample.eager_allows:
        lines += entry("numerics", EAGER_ALLOWS, options.width)
    # The picture says what the calls do, and takes their room.
    if not (options.compact and picture):
        lines += inputs(counterexample, operation, options)
    if not (options.compact and mistake_names(report, operation.name)):
        lines += entry("why it holds", f"veriformer explain {result.law.id}", options.width)
    if options.verbose:
        lines += script(report, result)
    return lines


def title(result: LawResult, width: int, mark: str = CROSS, style: str = "bold red") -> Lines:
    """Return the law's id and, below it, its statement."""
    line = Text(f"  {mark} ", style=style)
    line.append(result.law.id, style=style)
    return [line, *paragraph(result.law.statement, width, INDENT)]


def smallest_case(counterexample: Counterexample, width: int) -> Lines:
    """Return the sizes and settings of the case; nothing for a law without cases."""
    return entry("smallest case", counterexample.case.describe(), width) if counterexample.case else []


def inputs(counterexample: Counterexample, operation: Operation, options: Options) -> Lines:
    """Return the arguments of the first calls; for a later call only those that differ from the one before."""
    width = options.width
    calls = counterexample.calls
    lines: Lines = []
    for number, record in enumerate(calls[:_MOST_CALLS]):
        changed = changed_arguments(record, calls[number - 1] if number else None)
        if len(calls) > 1:
            lines += labelled(_ORDINALS[number], ["" if changed else "with the same arguments"])
        pictures = {name: drawn(operation, name, value, width - INDENT - LABEL) for name, value in changed}
        if options.compact:
            pictures = _with_short_ones_together(pictures, width - INDENT - LABEL)
        for name, rows in pictures.items():
            lines += fitting(f"  {name}" if len(calls) > 1 else name, rows, width)
    if len(calls) > _MOST_CALLS:
        lines += labelled("", [f"… and {counted(len(calls) - _MOST_CALLS, 'more call', 'more calls')}"])
    return lines


def _with_short_ones_together(pictures: dict[str, list[str]], width: int) -> dict[str, list[str]]:
    """Return the arguments with those of one line each beside each other, as far as a line goes."""
    together: dict[str, list[str]] = {}
    last = ""
    for name, rows in pictures.items():
        beside_last = f"{together[last][0]}   {name} {rows[0]}" if last and len(rows) == 1 else ""
        if beside_last and len(beside_last) <= width:
            together[last] = [beside_last]
            continue
        together[name] = rows
        last = name if len(rows) == 1 else ""
    return together


def outcome(counterexample: Counterexample, operation: Operation, options: Options) -> Lines:
    """Return the expected and the received result, and the size of the difference, in a number and as a bar."""
    verdict = counterexample.verdict
    if verdict.wrong is None or isinstance(verdict.expected, str) or isinstance(verdict.actual, str):
        expected = entry("expected", plain(verdict.expected), options.width)
        return [*expected, *entry("got", plain(verdict.actual), options.width, style="red")]
    most = _MOST_ROWS_VERBOSE if options.verbose else 1 if options.compact else _MOST_ROWS
    comparison = compared(verdict, operation, options.width - INDENT - LABEL, most)
    if options.compact and verdict.wrong.size == 1:
        row = comparison.rows[0]
        text = f"{row.expected.strip()}, but got {row.received.strip()} ({excess_sentence(verdict)})"
        return entry("expected", text, options.width)
    bar = [] if options.compact else _bar(verdict, options.width)
    # Marks tell wrong entries from others.
    marked = not (options.compact and bool(np.all(verdict.wrong)))
    return [*_rows(comparison, marked=marked), *entry("error", error_sentence(verdict), options.width), *bar]


def _bar(verdict: Verdict, width: int) -> Lines:
    """Return the error on a logarithmic scale, beside what rounding explains; nothing where either is not a number."""
    if isinstance(verdict.expected, str) or isinstance(verdict.actual, str) or verdict.wrong is None:
        return []
    with np.errstate(invalid="ignore"):
        error = float(np.abs(verdict.actual - verdict.expected)[verdict.wrong].max(initial=0.0))
    if not (np.isfinite(error) and 1.0 < verdict.excess < np.inf):
        return []
    drawn_bar = lines_of(ErrorBar("", error, error / verdict.excess), width - INDENT - LABEL)
    return beside("", drawn_bar[:1])


def script(report: Report, result: LawResult) -> Lines:
    """Return the lines of a script that reproduces the violation."""
    if result.counterexample is None or not result.counterexample.calls:
        return []
    text = reproduce(
        target(report),
        report.framework,
        result.counterexample,
        conventions=conventions_of(report, result.law.operation.name),
        law=result.law.id,
        taken_as=report.taken_as,
    )
    lines = [Text(" " * INDENT + "reproduce", style="dim")]
    return [*lines, *(Text(f"{' ' * INDENT}  {plain(line, 2000)}".rstrip()) for line in text.splitlines())]


def conventions_of(report: Report, operation: str) -> dict[str, str]:
    """Return the conventions that an operation was found to obey."""
    return {finding.convention: finding.value for finding in report.findings if finding.operation == operation}


def changed_arguments(record: CallRecord, before: CallRecord | None) -> list[tuple[str, Any]]:
    """Return the arguments of a call that differ from those of the call before it; all where there is none."""
    arguments = dict(arguments_by_name(record.arguments))
    if before is None:
        return list(arguments.items())
    earlier = dict(arguments_by_name(before.arguments))
    changed = [(name, value) for name, value in arguments.items() if not same(value, earlier.get(name))]
    return changed + [(name, "not given") for name in earlier if name not in arguments]


def _rows(comparison: RowComparison, *, marked: bool) -> Lines:
    lines = [line for row in comparison.rows for line in _row(row, marked=marked)]
    if comparison.left_out:
        lines += labelled(
            "", [f"… and {counted(comparison.left_out, 'more row that differs', 'more rows that differ')}"]
        )
    return lines


def _row(row: Row, *, marked: bool) -> Lines:
    margin = "  " if row.position else ""
    return [
        *([Text(f"{' ' * INDENT}{row.position}", style="dim")] if row.position else []),
        *labelled(f"{margin}expected", [row.expected]),
        *labelled(f"{margin}got", [row.received], style="red"),
        *(labelled("", [row.marks], style="bold red") if marked else []),
    ]
