"""Removing the lines of a list of expected failures that are no longer true."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veriformer.conformance_tests.run.expected_failures import Entry, ExpectedFailures
    from veriformer.conformance_tests.run.report import Report


def remove_stale(path: Path, expected: ExpectedFailures, reports: Iterable[Report]) -> frozenset[int]:
    """Rewrite the list without its stale lines, and return their numbers.

    A line that is stale for one implementation and true of another stays. OSError when the list cannot be written.
    """
    from veriformer.conformance_tests.run.atomic import write_text

    reports = list(reports)
    stale = {line for report in reports for line in stale_lines(report)}
    needed = {entry.line for entry in expected.entries if any(_needs(report, entry) for report in reports)}
    removed = frozenset(stale - needed)
    if removed:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        write_text(path, "".join(line for number, line in enumerate(lines, 1) if number not in removed))
    return removed


def stale_lines(report: Report) -> tuple[int, ...]:
    """Return the number of the line that each sentence about a stale entry names, in their order."""
    found = (re.match(r"line (\d+):", sentence) for sentence in report.stale)
    return tuple(int(match[1]) for match in found if match)


def _needs(report: Report, entry: Entry) -> bool:
    about_it = entry.implementation in (None, report.implementation)
    return about_it and any(
        result.law.id == entry.law and result.expected_failure is not None for result in report.results
    )
