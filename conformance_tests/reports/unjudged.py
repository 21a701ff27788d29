"""Laws that could not be judged because the operation raised, or returned no valid result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import counted, joined, plain
from veriformer.conformance_tests.reports.layout import INDENT, Lines, blank, entry, labelled, paragraph
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.tracebacks import traceback_lines
from veriformer.conformance_tests.reports.violation import inputs, script, smallest_case
from veriformer.conformance_tests.run.report import Report

MARK = "!"
_MOST_REASONS = 3
# Sizes, numbers, addresses and the characters between them.
_NO_WORDS = r"(0x[0-9a-f]+|\d+\.?\d*(e[-+]?\d+)?|[^a-zA-Z])+"


def unjudged(report: Report, results: Iterable[LawResult], options: Options) -> Lines:
    """Return one paragraph for each reason, with all laws that could not be judged for it."""
    groups = by_reason(results)
    most = len(groups) if options.verbose else _MOST_REASONS
    lines: Lines = []
    for group in islice(groups, most):
        lines += [*_paragraph(report, group, options), blank()]
    left = [result for group in groups[most:] for result in group]
    if left:
        rest = f"{counted(len(left), 'law')} could not be judged for other reasons; --verbose shows them"
        lines += [*paragraph(rest, options.width, INDENT), blank()]
    return lines


def by_reason(results: Iterable[LawResult]) -> list[list[LawResult]]:
    """Return the laws that could not be judged in groups, one for each reason; the most telling come first."""
    groups: dict[str, list[LawResult]] = {}
    for result in results:
        groups.setdefault(essence(result), []).append(result)
    # Laws that were no longer tried come after those that prevented it.
    return sorted(groups.values(), key=lambda group: (group[0].counterexample is not None, len(group)), reverse=True)


def essence(result: LawResult) -> str:
    """Return the words of a reason: numbers differ between laws, and names between operations."""
    return re.sub(_NO_WORDS, " ", result.reason.removeprefix(f"{result.law.operation.name} raised "))


def said_before(report: Report, results: Iterable[LawResult]) -> dict[str, list[LawResult]]:
    """Return the laws whose reason an earlier operation has already shown, by the name of that operation."""
    its = list(results)
    said: dict[str, str] = {}
    for operation, errors in _errors_before(report, its).items():
        unsaid = [result for result in errors if essence(result) not in said]
        for group in by_reason(unsaid)[:_MOST_REASONS]:
            said[essence(group[0])] = operation
    again: dict[str, list[LawResult]] = {}
    for result in its:
        if essence(result) in said:
            again.setdefault(said[essence(result)], []).append(result)
    return again


def _errors_before(report: Report, results: list[LawResult]) -> dict[str, list[LawResult]]:
    """Return the laws of earlier operations that could not be judged, by operation."""
    errors: dict[str, list[LawResult]] = {}
    for result in report.results:
        operation = result.law.operation.name
        if results and operation == results[0].law.operation.name:
            break
        if result.status == "error" and result.expected_failure is None:
            errors.setdefault(operation, []).append(result)
    return errors


def as_before(again: Mapping[str, list[LawResult]], options: Options) -> Lines:
    """Return a line for all laws whose reason an earlier operation has already shown."""
    lines: Lines = []
    for operation, results in again.items():
        reason = f"for the same reason as {operation}"
        lines += [*_heading(f"{counted(len(results), 'law')} could not be judged, {reason}", options), blank()]
    return lines


def _paragraph(report: Report, group: list[LawResult], options: Options) -> Lines:
    lines = _heading(f"{counted(len(group), 'law')} could not be judged", options)
    return [
        *lines,
        *paragraph(plain(group[0].reason), options.width, INDENT),
        *entry("laws", _named([result.law.id for result in group], options), options.width),
        *circumstances(report, group[0], options),
    ]


def _heading(text: str, options: Options) -> Lines:
    return paragraph(f"{MARK} {text}", options.width, 2, "bold yellow")


def _named(ids: list[str], options: Options) -> str:
    """Return the first law, and how many others are stopped by the same."""
    if options.verbose or len(ids) == 1:
        return joined(ids)
    return f"{ids[0]}, and the same in {counted(len(ids) - 1, 'more law')} (--verbose names them)"


def circumstances(report: Report, result: LawResult, options: Options) -> Lines:
    """Return where the operation raised, and the case on which a law could not be judged."""
    lines: Lines = []
    if shown := traceback_lines(_beyond_reason(result), whole=options.traceback):
        lines += labelled("traceback", [""])
        lines += labelled("", shown, INDENT + 2, label_width=0)
    if result.counterexample is not None:
        lines += smallest_case(result.counterexample, options.width)
        lines += inputs(result.counterexample, result.law.operation, options)
    return lines + (script(report, result) if options.verbose else [])


def _beyond_reason(result: LawResult) -> str:
    """Return the traceback of a law without its last line where the reason has just said it."""
    before, _, last = result.traceback.rstrip().rpartition("\n")
    return before if last and result.reason.endswith(last) else result.traceback
