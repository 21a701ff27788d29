"""Two implementations compared, for a reader: what agrees, where they part and why, and what the port must change."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text
from veriformer.conformance_tests.comparison import Cause, Comparison, ConventionPair, Meeting, OperationComparison
from veriformer.conformance_tests.reports.arrays import arguments_by_name, drawn
from veriformer.conformance_tests.reports.difference import Row, compared, error_sentence
from veriformer.conformance_tests.reports.layout import INDENT, LABEL, Lines, blank, entry, heading, labelled, paragraph
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.text import counted, first_few, joined, plain
from veriformer.conformance_tests.verdict import Verdict

_MOST_ROWS = 3
_MOST_ROWS_VERBOSE = 12
_LONGEST_NAME = 24
_CORRECT = "correct what does not obey the laws"


def outcomes(comparison: Comparison) -> Table:
    """Return a table with a row for each operation that both have."""
    table = _table("operation", "cases", "outcome")
    for operation in comparison.operations:
        table.add_row(operation.operation.name, f"{operation.cases}", Text(outcome_words(operation, comparison)))
    return table


def outcome_words(operation: OperationComparison, comparison: Comparison) -> str:
    """Return how one operation came out, in a few words."""
    if operation.reason:
        return f"not compared: {plain(operation.reason)}"
    if operation.agrees:
        return "agree"
    return "; ".join(dict.fromkeys(cause_words(cause, comparison) for cause in operation.causes))


def cause_words(cause: Cause, comparison: Comparison) -> str:
    """Return why two implementations part."""
    if cause.side == "both":
        return f"differ by {joined(cause.conventions) or 'what no convention names'}"
    if cause.side == "neither":
        return "differ, and neither is right"
    wrong = _short(comparison.second if cause.side == "first" else comparison.first)
    return f"{wrong} {'raises' if cause.raised else 'is wrong'}"


def conventions_side_by_side(comparison: Comparison, *, everything: bool) -> Table | None:
    """Return a table of the conventions in which they differ, or of all; None where there is none to show."""
    table = _table("convention", _short(comparison.first), _short(comparison.second), "operations")
    rows: dict[tuple[str, str, str], list[str]] = {}
    for operation in comparison.operations:
        for pair in operation.conventions:
            if everything or pair.differ:
                key = (pair.name, _value(pair, 0), _value(pair, 1))
                rows.setdefault(key, []).append(operation.operation.name)
    for (name, first, second), operations in rows.items():
        table.add_row(name, first, second, first_few(operations, 99 if everything else 2))
    return table if rows else None


def details(comparison: Comparison, options: Options) -> Lines:
    """Return a section for each operation on which they part, and what else the port must change."""
    lines: Lines = []
    for operation in comparison.operations:
        for meeting in operation.meetings:
            lines += [blank(), *_parting(comparison, operation, meeting, options)]
    return [*lines, *_changes(comparison, options)]


def summary(comparison: Comparison) -> str:
    """Return the last line: the counts."""
    if not comparison.compared:
        return why_nothing(comparison)
    agreeing = sum(operation.agrees for operation in comparison.compared)
    parting = [operation for operation in comparison.compared if not operation.agrees]
    mistaken = sum(any(cause.side != "both" for cause in operation.causes) for operation in parting)
    return (
        f"{counted(agreeing, 'operation agrees', 'operations agree')}, "
        f"{len(parting) - mistaken} differ by conventions, {mistaken} by a mistake; "
        f"{counted(sum(operation.cases for operation in comparison.compared), 'case')}, seed {comparison.seed}, "
        f"{comparison.seconds:.1f} s"
    )


def why_nothing(comparison: Comparison) -> str:
    """Return why nothing could be compared, and what to do."""
    both = f"{plain(comparison.first)} and {plain(comparison.second)}"
    if not comparison.operations:
        own = [
            first_few(names) or "none of those asked for" for names in (comparison.only_first, comparison.only_second)
        ]
        return f"{both} have no operation in common: the first has {own[0]}, the second {own[1]}"
    reasons = "; ".join(f"{each.operation.name}: {plain(each.reason)}" for each in comparison.operations)
    return f"{both} could not be compared: {reasons}"


def only_one_has(comparison: Comparison, options: Options) -> Lines:
    """Return the operations that only one of the two has."""
    most = 99 if options.verbose else 4
    lines: Lines = []
    for name, operations in ((comparison.first, comparison.only_first), (comparison.second, comparison.only_second)):
        if operations:
            lines += paragraph(f"Only {_short(name)} has {first_few(operations, most)}.", options.width)
    return [blank(), *lines] if lines else []


def _parting(comparison: Comparison, operation: OperationComparison, meeting: Meeting, options: Options) -> Lines:
    cause = meeting.cause
    if cause is None:
        return []
    width = options.width
    title = Text(f"  ✗ {operation.operation.name}", style="bold red")
    title.append(f"   {cause_words(cause, comparison)}", style="red")
    lines: Lines = [title, blank(), *entry("smallest case", meeting.case.describe(), width)]
    for name, value in arguments_by_name(dict(meeting.arguments)):
        lines += labelled(name, drawn(operation.operation, name, value, width - INDENT - LABEL))
    lines += _results(comparison, operation, meeting, options)
    lines += entry("the laws", _verdict_of_laws(comparison, operation, cause), width)
    for convention in cause.conventions:
        if convention in operation.changes:
            lines += entry("to match", plain(operation.changes[convention], 400), width)
    return lines


def _results(comparison: Comparison, operation: OperationComparison, meeting: Meeting, options: Options) -> Lines:
    first, second = meeting.results
    names = (_short(comparison.first), _short(comparison.second))
    if first is None or second is None or meeting.wrong is None:
        lines: Lines = []
        for name, result, error in zip(names, meeting.results, meeting.errors, strict=True):
            lines += entry(name, plain(error) if result is None else "returns a result", options.width)
        return lines
    both_right = meeting.cause is not None and meeting.cause.side == "both"
    # As numbers, so that masks can be subtracted too.
    verdict = Verdict(False, first.astype(float), second.astype(float), meeting.wrong, meeting.excess)
    most = _MOST_ROWS_VERBOSE if options.verbose else _MOST_ROWS
    reference = None if both_right else meeting.expected[0]
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


def _verdict_of_laws(comparison: Comparison, operation: OperationComparison, cause: Cause) -> str:
    names = (_short(comparison.first), _short(comparison.second))
    if cause.side == "both":
        values = {pair.name: f"{pair.first} and {pair.second}" for pair in operation.conventions}
        told = joined(f"{name} ({values[name]})" for name in cause.conventions if name in values)
        return f"allow both: each obeys them under its own {told}" if told else "allow both"
    if cause.side == "neither":
        return "side with neither: no result is the expected one under its implementation's own conventions"
    right, wrong = names if cause.side == "first" else names[::-1]
    check = f"veriformer check {wrong} --operation {operation.operation.name}"
    does = "raises" if cause.raised else "does not return what is expected under its own conventions"
    return f"side with {right}: {wrong} {does} (see: {check})"


def _changes(comparison: Comparison, options: Options) -> Lines:
    """Return what the second must change to match the first, once for each convention."""
    places: dict[str, list[str]] = {}
    for operation in comparison.operations:
        for sentence in operation.changes.values():
            places.setdefault(sentence, []).append(operation.operation.name)
    for operation in comparison.operations:
        if any(cause.side == "first" for cause in operation.causes):
            places.setdefault(_CORRECT, []).append(operation.operation.name)
    if not places:
        return []
    title = f"What {_short(comparison.second)} must change to match {_short(comparison.first)}"
    lines = [blank(), heading(title)]
    most = 99 if options.verbose else 2
    for sentence, operations in places.items():
        bullet = paragraph(f"{plain(sentence, 400)} ({first_few(operations, most)})", options.width - 4, 4)
        bullet[0] = Text(f"  - {bullet[0].plain.lstrip()}")
        lines += bullet
    return lines


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(Text(column), no_wrap=number == 0, overflow="fold")
    return table


def _value(pair: ConventionPair, side: int) -> str:
    value = plain(pair.second if side else pair.first)
    return f"{value} (assumed)" if pair.how[side] == "standard" and not pair.known else value


def _short(name: str) -> str:
    """Return a name that fits beside a row: of a long path its end."""
    shown = plain(name)
    return shown if len(shown) <= _LONGEST_NAME else f"…{shown[1 - _LONGEST_NAME :]}"
