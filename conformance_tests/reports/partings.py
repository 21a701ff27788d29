"""Where two implementations differ, for a reader: the smallest case, both results, and which one the laws allow."""

from __future__ import annotations

import shlex
from dataclasses import replace

from rich.text import Text
from veriformer.conformance_tests.comparison.comparison import CaseComparison, Cause, Comparison, OperationComparison
from veriformer.conformance_tests.core.naming import Names, shortened
from veriformer.conformance_tests.core.text import counted, joined, plain
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.reports.arrays import arguments_by_name, drawn
from veriformer.conformance_tests.reports.difference import Row, compared, error_sentence
from veriformer.conformance_tests.reports.layout import INDENT, LABEL, Lines, blank, entry, labelled
from veriformer.conformance_tests.reports.options import Options

_MOST_ROWS = 3
_MOST_ROWS_VERBOSE = 12
_LONGEST_NAME = 24
_LONGEST_COMMAND = 1000


def cause_words(cause: Cause, comparison: Comparison) -> str:
    """Return why two implementations differ."""
    if cause.side == "both":
        return f"differ by {joined(cause.conventions) or 'something that no convention names'}"
    if cause.side == "neither":
        return "differ, and neither is right"
    wrong = short_names(comparison)[1 if cause.side == "first" else 0]
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
    names = short_names(comparison)
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
    return [*lines, *entry("difference", difference_words(found, verdict), options.width)]


def difference_words(found: CaseComparison, verdict: Verdict) -> str:
    """Return how far the two results are apart; the one that the laws side with is what is expected."""
    if found.cause is not None and found.cause.side == "second":
        verdict = replace(verdict, expected=verdict.actual, actual=verdict.expected)
    return error_sentence(verdict)


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
    names = short_names(comparison)
    if cause.side == "both":
        values = {pair.name: f"{pair.first} and {pair.second}" for pair in operation.conventions}
        conventions = joined(f"{name} ({values[name]})" for name in cause.conventions if name in values)
        return f"allow both: each obeys them under its own {conventions}" if conventions else "allow both"
    if cause.side == "neither":
        return "side with neither: no result is the expected one under its implementation's own conventions"
    right, wrong = names if cause.side == "first" else names[::-1]
    check = check_command(comparison, operation, 1 if cause.side == "first" else 0)
    does = "raises" if cause.raised else "does not return what is expected under its own conventions"
    return f"side with {right}: {wrong} {does}{f' (see: {check})' if check else ''}"


def check_command(comparison: Comparison, operation: OperationComparison, side: int) -> str:
    """Return the command that checks an operation of one of the two; empty for an object of Python, which has none."""
    source = comparison.sources[side]
    if source is None:
        return ""
    return plain(shlex.join(["veriformer", "check", source, "--operation", operation.operation.name]), _LONGEST_COMMAND)


def certain_mistakes(operation: OperationComparison, side: int) -> list[str]:
    """Return the mistakes that one of the two is certain to make in an operation."""
    check = operation.checks[side]
    diagnoses = check.diagnoses if check is not None else ()
    return [mistake for one in diagnoses if one.is_certain for mistake in one.suspects[0].mistakes]


def short_names(comparison: Comparison) -> Names:
    """Return names that fit next to a row: the ends of long paths, which still tell the two apart."""
    return shortened((plain(comparison.first), plain(comparison.second)), _LONGEST_NAME)
