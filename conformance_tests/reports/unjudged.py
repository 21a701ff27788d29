"""Laws that could not be judged because the operation raised, or returned no valid result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice

from rich.text import Text
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import counted, joined, plain, plain_lines
from veriformer.conformance_tests.reports.layout import INDENT, Lines, blank, entry, labelled, paragraph
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.violation import inputs, script, smallest_case
from veriformer.conformance_tests.run.report import Report

MARK = "!"
_MOST_REASONS = 3
# Sizes, numbers, addresses and the characters between them.
_NO_WORDS = r"(0x[0-9a-f]+|\d+\.?\d*(e[-+]?\d+)?|[^a-zA-Z])+"
_TRACEBACK_LINES = 30
_OUR_FRAME = r'^  File "[^"]*veriformer.adapters.(calling|isolation.\w+|\w+_arrays)\.py".*\n(    .*\n)*'


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
        groups.setdefault(_essence(result), []).append(result)
    # Laws that were no longer tried come after those that prevented it.
    return sorted(groups.values(), key=lambda group: (group[0].counterexample is not None, len(group)), reverse=True)


def _essence(result: LawResult) -> str:
    """Return the words of a reason: numbers differ between laws, and names between operations."""
    return re.sub(_NO_WORDS, " ", result.reason.removeprefix(f"{result.law.operation.name} raised "))


def said_before(report: Report, results: Iterable[LawResult]) -> dict[str, list[LawResult]]:
    """Return the laws whose reason an earlier operation has already shown, by the name of that operation."""
    its = list(results)
    said: dict[str, str] = {}
    for operation, errors in _errors_before(report, its).items():
        unsaid = [result for result in errors if _essence(result) not in said]
        for group in by_reason(unsaid)[:_MOST_REASONS]:
            said[_essence(group[0])] = operation
    again: dict[str, list[LawResult]] = {}
    for result in its:
        if _essence(result) in said:
            again.setdefault(said[_essence(result)], []).append(result)
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
    """Return lines for laws whose reason an earlier operation has already shown."""
    lines: Lines = []
    for operation, results in again.items():
        line = Text(f"  {MARK} {counted(len(results), 'law')} could not be judged", style="bold yellow")
        line.append(f", for the same reason as {operation}", style="not bold")
        lines += [line, *entry("laws", joined(result.law.id for result in results), options.width), blank()]
    return lines


def _without_our_frames(traceback: str) -> str:
    """Return a traceback without the suite's own frames, which call the operation."""
    return re.sub(_OUR_FRAME, "", traceback, flags=re.MULTILINE)


def _paragraph(report: Report, group: list[LawResult], options: Options) -> Lines:
    line = Text(f"  {MARK} ", style="bold yellow")
    line.append(f"{counted(len(group), 'law')} could not be judged", style="bold yellow")
    ids = [result.law.id for result in group]
    lines: Lines = [line, *paragraph(plain(group[0].reason), options.width, INDENT), blank()]
    return [*lines, *entry("laws", joined(ids), options.width), *circumstances(report, group[0], options)]


def circumstances(report: Report, result: LawResult, options: Options) -> Lines:
    """Return the case on which a law could not be judged, and where the operation raised."""
    lines: Lines = []
    if result.counterexample is not None:
        lines += smallest_case(result.counterexample, options.width)
        lines += inputs(result.counterexample, result.law.operation, options.width)
    if result.traceback and options.traceback:
        lines += labelled("traceback", plain_lines(_without_our_frames(result.traceback), _TRACEBACK_LINES))
    elif result.traceback:
        lines += labelled("traceback", ["--traceback shows the line that raised"])
    return lines + (script(report, result) if options.verbose else [])
