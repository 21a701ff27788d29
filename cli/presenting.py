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


def print_reports(console: Console, reports: Sequence[Report], options: Options) -> None:
    """Print the reports, those of models last; the last lines are always the counts."""
    models = [report for report in reports if isinstance(report, ModelReport)]
    _print_implementations(console, [report for report in reports if not isinstance(report, ModelReport)], options)
    for number, model in enumerate(models):
        before = number or len(reports) > len(models)
        print_lines(console, [*([blank()] if before else []), *report_lines(model, options)])


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
