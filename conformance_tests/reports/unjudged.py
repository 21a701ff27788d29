"""Laws that could not be judged because the operation raised, or returned what is no result."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from rich.text import Text
from veriformer.conformance_tests.report import LawResult, Report
from veriformer.conformance_tests.reports.layout import INDENT, Lines, blank, entry, labelled, paragraph
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.text import counted, first_few, plain, plain_lines
from veriformer.conformance_tests.reports.violation import inputs, script, smallest_case

MARK = "!"
_MOST_REASONS = 3
_MOST_LAWS = 4
_TRACEBACK_LINES = 30
_OUR_FRAME = r'^  File "[^"]*veriformer.adapters.(calling|isolation.\w+|\w+_arrays)\.py".*\n(    .*\n)*'


def unjudged(report: Report, results: Iterable[LawResult], options: Options) -> Lines:
    """Return one paragraph for each reason, however many laws it stopped."""
    groups = _by_reason(results)
    most = len(groups) if options.verbose else _MOST_REASONS
    lines: Lines = []
    for group in islice(groups, most):
        lines += [*_paragraph(report, group, options), blank()]
    left = [result for group in groups[most:] for result in group]
    if left:
        rest = f"{counted(len(left), 'law')} could not be judged for other reasons; --verbose shows them"
        lines += [*paragraph(rest, options.width, INDENT), blank()]
    return lines


def _by_reason(results: Iterable[LawResult]) -> list[list[LawResult]]:
    groups: dict[str, list[LawResult]] = {}
    for result in results:
        # Sizes differ from law to law; what went wrong is the same.
        groups.setdefault(re.sub(r"\d+(, \d+)*", "0", result.reason), []).append(result)
    # What was not tried any more comes after what stood in its way.
    return sorted(groups.values(), key=lambda group: (group[0].counterexample is not None, len(group)), reverse=True)


def _without_our_frames(traceback: str) -> str:
    """Return a traceback without the frames that call the operation, which tell the reader nothing."""
    return re.sub(_OUR_FRAME, "", traceback, flags=re.MULTILINE)


def _paragraph(report: Report, group: list[LawResult], options: Options) -> Lines:
    line = Text(f"  {MARK} ", style="bold yellow")
    line.append(f"{counted(len(group), 'law')} could not be judged", style="bold yellow")
    ids = [result.law.id for result in group]
    shown = first_few(ids, len(ids) if options.verbose else _MOST_LAWS)
    lines: Lines = [line, *paragraph(plain(group[0].reason), options.width, INDENT), blank()]
    return [*lines, *entry("laws", shown, options.width), *circumstances(report, group[0], options)]


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
