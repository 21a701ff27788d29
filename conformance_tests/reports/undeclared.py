"""The laws about what an implementation does not declare: one line, or their operations and reasons if asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import counted, first_few, plain
from veriformer.conformance_tests.reports.layout import Lines, entry
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.run.report import Report

_LABEL = 14


def not_declared(report: Report, options: Options) -> Lines:
    """Return how many laws are not declared; if verbose, of which operations that are not declared at all."""
    number = report.counts["not_declared"]
    absent = Counter(result.law.operation.name for result in report.results if is_absent(result))
    # What breaks laws needs the room; the last line counts these too.
    if not number or (options.verbose and not absent) or (report.verdict == "violates" and not options.verbose):
        return []
    text = f"{counted(number, 'law')} (--verbose says which, and why)"
    if options.verbose:
        names = first_few([f"{name} ({its})" for name, its in absent.items()], len(absent))
        text = f"{names} {'laws' if sum(absent.values()) > 1 else 'law'}"
    return entry("Not declared", text, options.width, indent=0, label_width=_LABEL, style="dim")


def is_absent(result: LawResult) -> bool:
    """Return whether a law is not declared because its operation is not."""
    return result.status == "not_declared" and result.reason == f"no operation {result.law.operation.name}"


def missing_features(results: Iterable[LawResult]) -> list[str]:
    """Return what a declared operation lacks, with the number of laws about it; a list of one sentence at most."""
    reasons = Counter(
        plain(result.reason).removeprefix(f"{result.law.operation.name} has ")
        for result in results
        if result.status == "not_declared"
    )
    missing = [f"{reason} ({counted(number, 'law')})" for reason, number in reasons.most_common()]
    return [first_few(missing, len(missing))] if missing else []
