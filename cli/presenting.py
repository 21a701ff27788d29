"""Printing the results of a check: one implementation in full, or several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.reports.comparison import different_conventions, side_by_side
from veriformer.conformance_tests.reports.console import details, headline, report_lines, summary
from veriformer.conformance_tests.reports.layout import Lines, blank
from veriformer.conformance_tests.reports.screen import print_lines
from veriformer.conformance_tests.run.model_report import ModelReport

if TYPE_CHECKING:
    from rich.console import Console
    from veriformer.conformance_tests.reports.options import Options
    from veriformer.conformance_tests.run.report import Report

_VIOLATES = 1


def print_reports(console: Console, reports: Sequence[Report], options: Options) -> None:
    """Print the reports, those of models last; the last lines are always the counts.

    Of one file, those that found something wrong come last: a terminal ends with them.
    """
    if _are_of_one_file(reports):
        for number, report in enumerate(sorted(reports, key=lambda one: one.exit_status == _VIOLATES)):
            print_lines(console, [*([blank()] if number else []), *report_lines(report, options)])
        return
    models = [report for report in reports if isinstance(report, ModelReport)]
    _print_implementations(console, [report for report in reports if not isinstance(report, ModelReport)], options)
    for number, model in enumerate(models):
        before = number or len(reports) > len(models)
        print_lines(console, [*([blank()] if before else []), *report_lines(model, options)])


def _are_of_one_file(reports: Sequence[Report]) -> bool:
    """Return whether reports are of functions and classes of the same file."""
    files = {report.implementation.partition(".py")[0] for report in reports if ".py" in report.implementation}
    return len(reports) > 1 and len(files) == 1 and all(".py" in report.implementation for report in reports)


def _print_implementations(console: Console, reports: Sequence[Report], options: Options) -> None:
    if len(reports) == 1:
        print_lines(console, report_lines(reports[0], options))
    elif reports:
        console.print(side_by_side(reports), soft_wrap=False)
        conventions = different_conventions(reports)
        if conventions is not None:
            print_lines(console, [blank()])
            console.print(conventions, soft_wrap=False)
        for report in reports:
            print_lines(console, _section(report, options))
        print_lines(console, [blank(), *_summaries(reports)])


def _section(report: Report, options: Options) -> Lines:
    lines = details(report, options)
    return [blank(), *headline(report, options), blank(), *lines] if lines else []


def _summaries(reports: Sequence[Report]) -> Lines:
    widest = max(len(plain(report.implementation)) for report in reports)
    return [Text(plain(report.implementation).ljust(widest + 3)).append_text(summary(report)) for report in reports]
