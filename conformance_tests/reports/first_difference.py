"""The difference of two implementations that matters most: the mistake, its place, the smallest case, what is next."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.conformance_tests.comparison.comparison import CaseComparison, Cause, Comparison, OperationComparison
from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.diagnosis.explanation import Explanation, explanations
from veriformer.conformance_tests.reports.diagnoses import findings_of
from veriformer.conformance_tests.reports.gist import mistake_in_words
from veriformer.conformance_tests.reports.layout import Lines, entry, paragraph
from veriformer.conformance_tests.reports.locations import definition
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.partings import cause_words, check_command, short_names
from veriformer.conformance_tests.reports.places import shown_file
from veriformer.conformance_tests.run.report import Report

# Which of the two is wrong, by the side that the laws take.
_WRONG = {"first": (1,), "second": (0,), "neither": (0, 1), "both": ()}


def first_difference(comparison: Comparison) -> tuple[OperationComparison, CaseComparison] | None:
    """Return the operation and the case of the difference that matters most; None where nothing differs.

    A mistake matters more than a convention, and a forward pass more than the backward pass through it.
    """
    found = [(one, case) for one in comparison.compared for case in one.differences if case.cause is not None]
    return min(found, key=lambda both: _rank(comparison, *both), default=None)


def _rank(comparison: Comparison, operation: OperationComparison, case: CaseComparison) -> tuple[bool, bool]:
    forward = operation.operation.forward
    after = any(one.operation.name == forward and one.differences for one in comparison.compared)
    return case.cause is None or case.cause.side == "both", after


def follows_from(comparison: Comparison, operation: OperationComparison) -> str:
    """Return the operation that differs by a mistake and of which this is the derived gradient; empty for none."""
    forward = operation.operation.forward
    before = next((one for one in comparison.compared if one.operation.name == forward), None)
    checks = [check for check in operation.checks if check is not None]
    derived = checks and all(operation.operation.name in check.derived for check in checks)
    if before is None or not derived or any(cause.side == "both" for cause in operation.causes):
        return ""
    return forward if _wrong(operation) <= _wrong(before) else ""


def _wrong(operation: OperationComparison) -> frozenset[int]:
    """Return which of the two are wrong in an operation."""
    return frozenset(side for cause in operation.causes for side in _WRONG[cause.side])


def first_difference_lines(comparison: Comparison, options: Options) -> Lines:
    """Return the difference that matters most, in a few lines; nothing where nothing differs."""
    found = first_difference(comparison)
    if found is None:
        return []
    operation, case = found
    if case.cause is None:
        return []
    they = "they " if case.cause.side in ("both", "neither") else ""
    said = f"What matters most: {operation.operation.name}: {they}{cause_words(case.cause, comparison)}"
    lines = paragraph(said, options.width, style="bold red")
    for label, text in _facts(comparison, operation, case, case.cause):
        lines += entry(label, text, options.width) if text else []
    return lines


def _facts(
    comparison: Comparison, operation: OperationComparison, case: CaseComparison, cause: Cause
) -> Iterator[tuple[str, str]]:
    sides = _WRONG[cause.side]
    names = short_names(comparison)
    for side in sides:
        text = case.errors[side] if cause.raised else _mistake(operation, side)
        yield "mistake" if len(sides) == 1 else names[side], plain(text, 400)
    for side in sides or (1,):
        yield "where", place_of(comparison, operation, side)
    yield "smallest case", case.case.describe()
    for convention in cause.conventions:
        yield "to match", plain(operation.changes.get(convention, ""), 400)
    label = "next"
    for command in filter(None, dict.fromkeys(_commands(comparison, operation, cause))):
        yield label, command
        label = ""


def _mistake(operation: OperationComparison, side: int) -> str:
    """Return the mistake of one of the two and what it does, as far as both are known."""
    check = operation.checks[side]
    if check is None:
        return ""
    name, known = mistake_in_words(check, operation.operation.name), _explained(check, operation.operation.name)
    return f"{name}: {known[0].sentence}" if len(known) == 1 else name


def _explained(check: Report, operation: str) -> tuple[Explanation, ...]:
    """Return what is known of the mistakes of an operation where they are certain; nothing else."""
    found = next((one for one in check.diagnoses if one.operation == operation and one.is_certain), None)
    if found is None:
        return ()
    return explanations(operation, found.suspects[0], findings_of(check, operation))


def place_of(comparison: Comparison, operation: OperationComparison, side: int) -> str:
    """Return where the function of an operation stands in one of the two: "my_attention.py:6"; empty if in no file."""
    if operation.places[side]:
        return operation.places[side]
    source, function = comparison.sources[side], operation.functions[side]
    found = definition(source, function)
    return "" if found is None else f"{shown_file(found.file)}:{found.line}"


def _commands(comparison: Comparison, operation: OperationComparison, cause: Cause) -> Iterator[str]:
    sides = _WRONG[cause.side]
    for side in sides:
        check = operation.checks[side]
        for one in _explained(check, operation.operation.name) if check is not None else ():
            if one.recorded or "=" in one.name:
                yield f"veriformer explain {one.name}"
    for side in sides:
        yield check_command(comparison, operation, side)
    for convention in cause.conventions:
        yield f"veriformer explain {convention}"
