"""Where two implementations differ, for a reader: the smallest case, both results, and which one the laws allow."""

from __future__ import annotations

from rich.text import Text
from veriformer.conformance_tests.comparison.comparison import CaseComparison, Cause, Comparison, OperationComparison
from veriformer.conformance_tests.core.text import counted, joined, plain
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.reports.arrays import arguments_by_name, drawn
from veriformer.conformance_tests.reports.difference import Row, compared, error_sentence
from veriformer.conformance_tests.reports.layout import INDENT, LABEL, Lines, blank, entry, labelled
from veriformer.conformance_tests.reports.options import Options

_MOST_ROWS = 3
_MOST_ROWS_VERBOSE = 12
_LONGEST_NAME = 24


def cause_words(cause: Cause, comparison: Comparison) -> str:
    """Return why two implementations differ."""
    if cause.side == "both":
        return f"differ by {joined(cause.conventions) or 'something that no convention names'}"
    if cause.side == "neither":
        return "differ, and neither is right"
    wrong = short_name(comparison.second if cause.side == "first" else comparison.first)
    return f"{wrong} {'raises' if cause.raised else 'is wrong'}"


def parting(comparison: Comparison, operation: OperationComparison, found: CaseComparison, options: Options) -> Lines:
    """Return the section of one cause for which the two differ: case, arguments, results, and what the laws say."""
    cause = found.cause
    if cause is None:
        return []
    width = options.width
    title = Text(f"  ✗ {operation.operation.name}", style="bold red")
    title.append(f"   {cause_words(cause, comparison)}", style="red")
    lines: Lines = [title, blank(), *entry("smallest case", found.case.describe(), width)]
    for name, value in arguments_by_name(dict(found.arguments)):
        lines += labelled(name, drawn(operation.operation, name, value, width - INDENT - LABEL))
    lines += _results(comparison, operation, found, options)
    lines += entry("the laws", verdict_of_laws(comparison, operation, cause), width)
    for convention in cause.conventions:
        if convention in operation.changes:
            lines += entry("to match", plain(operation.changes[convention], 400), width)
    return lines


def _results(comparison: Comparison, operation: OperationComparison, found: CaseComparison, options: Options) -> Lines:
    first, second = found.results
    names = (short_name(comparison.first), short_name(comparison.second))
    if first is None or second is None or found.wrong is None:
        lines: Lines = []
        for name, result, error in zip(names, found.results, found.errors, strict=True):
            lines += entry(name, plain(error) if result is None else "returns a result", options.width)
        return lines
    both_right = found.cause is not None and found.cause.side == "both"
    # As numbers, so that masks can be subtracted too.
    verdict = Verdict(False, first.astype(float), second.astype(float), found.wrong, found.excess)
    most = _MOST_ROWS_VERBOSE if options.verbose else _MOST_ROWS
    reference = None if both_right else found.expected[0]
    rows = compared(verdict, operation.operation, options.width - INDENT - LABEL, most, reference)
    lines = [line for row in rows.rows for line in _row(row, names)]
    if rows.left_out:
        lines += labelled("", [f"… and {counted(rows.left_out, 'more row that differs', 'more rows that differ')}"])
    return [*lines, *entry("difference", error_sentence(verdict), options.width)]


def _row(row: Row, names: tuple[str, str]) -> Lines:
    margin = "  " if row.position else ""
    return [
        *([Text(f"{' ' * INDENT}{row.position}", style="dim")] if row.position else []),
        *(labelled(f"{margin}expected", [row.reference]) if row.reference else []),
        *labelled(f"{margin}{names[0]}", [row.expected]),
        *labelled(f"{margin}{names[1]}", [row.received]),
        *labelled("", [row.marks], style="bold red"),
    ]


def verdict_of_laws(comparison: Comparison, operation: OperationComparison, cause: Cause) -> str:
    """Return what the laws do: they allow both, or side with one or with neither."""
    names = (short_name(comparison.first), short_name(comparison.second))
    if cause.side == "both":
        values = {pair.name: f"{pair.first} and {pair.second}" for pair in operation.conventions}
        conventions = joined(f"{name} ({values[name]})" for name in cause.conventions if name in values)
        return f"allow both: each obeys them under its own {conventions}" if conventions else "allow both"
    if cause.side == "neither":
        return "side with neither: no result is the expected one under its implementation's own conventions"
    right, wrong = names if cause.side == "first" else names[::-1]
    check = f"veriformer check {wrong} --operation {operation.operation.name}"
    does = "raises" if cause.raised else "does not return what is expected under its own conventions"
    return f"side with {right}: {wrong} {does} (see: {check})"


def short_name(name: str) -> str:
    """Return a name that fits next to a row: the end of a long path."""
    shown = plain(name)
    return shown if len(shown) <= _LONGEST_NAME else f"…{shown[1 - _LONGEST_NAME :]}"
