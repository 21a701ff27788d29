"""The report for people: the verdict and what holds first, what breaks laws and why last, where a terminal ends."""

from __future__ import annotations

from rich.text import Text
from veriformer.conformance_tests.core.law_result import LawResult, is_unexpected
from veriformer.conformance_tests.core.text import counted, joined, plain
from veriformer.conformance_tests.reports.diagnoses import diagnosis_lines
from veriformer.conformance_tests.reports.findings import conventions_found
from veriformer.conformance_tests.reports.gist import gist
from veriformer.conformance_tests.reports.layout import Lines, as_text, blank, entry, paragraph, spaced
from veriformer.conformance_tests.reports.model import model_lines
from veriformer.conformance_tests.reports.of_operations import (
    LABEL_OF_SECTION,
    broken_operations,
    by_operation,
    failures,
    mistakes_found,
    other_operations,
    others_in_brief,
)
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.undeclared import not_declared
from veriformer.conformance_tests.reports.unjudged import MARK, circumstances
from veriformer.conformance_tests.reports.violation import CROSS, evidence
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report

DEFAULTS = Options()
# What was taken for what may be long, and each part of it counts.
_LONGEST_NOTICE = 600
_STYLES = {"conforms": "bold green", "violates": "bold red", "error": "bold yellow"}


def report_text(report: Report, options: Options = DEFAULTS) -> str:
    """Return a report as plain text."""
    return as_text(report_lines(report, options))


def law_text(report: Report, result: LawResult, options: Options = DEFAULTS) -> str:
    """Return one law that does not hold or could not be judged as plain text, with the gist in the first line.

    `report` is the one that the result belongs to.
    """
    explained = diagnosis_lines(report, result.law.operation.name, options)
    explained = [blank(), *explained, blank()] if explained else []
    if result.status == "error":
        return f"{MARK} {gist(report, result)}\n\n{as_text([*circumstances(report, result, options), *explained])}"
    return f"{CROSS} {gist(report, result)}\n\n{as_text([*evidence(report, result, options), *explained])}"


def report_lines(report: Report, options: Options = DEFAULTS) -> Lines:
    """Return a whole report; its first lines are the verdict, its last line has the counts."""
    if isinstance(report, ModelReport):
        return model_lines(report, options)
    broken = broken_operations(report, options)
    first = [*headline(report, options), *verdict(report, options)]
    found = [*_notices(report, options), *conventions_found(report, options), *not_declared(report, options)]
    is_brief = bool(broken) and not options.verbose
    # What is wrong is to fit on a screen, with what was judged.
    sections = [
        *([[*first, *found, *others_in_brief(report, options)]] if is_brief else [first, found]),
        _expected_failures(report, options),
        _stale(report, options),
        other_operations(report, options, only_doubtful=is_brief),
        *broken,
        mistakes_found(report, options) if len(broken) > 1 else [],
    ]
    # Where laws are broken, what is wrong fills a screen and the counts belong to it.
    return [*spaced(sections), *([] if is_brief else [blank()]), summary(report)]


def details(report: Report, options: Options = DEFAULTS) -> Lines:
    """Return what a table of counts leaves out; nothing if it leaves out nothing."""
    sections = [
        [*_notices(report, options), *(conventions_found(report, options) if options.verbose else [])],
        _expected_failures(report, options),
        _stale(report, options),
    ]
    for name, results in by_operation(report).items():
        broken = failures(report, results, options)
        sections.append([Text(name), *broken] if broken else [])
    return spaced(sections)


def headline(report: Report, options: Options = DEFAULTS) -> Lines:
    """Return what was checked, and how."""
    name = plain(report.implementation)
    facts = joined(
        [
            plain(report.framework),
            counted(len(by_operation(report)), "operation"),
            f"seed {report.seed}",
            f"tier {report.tier}",
        ]
    )
    line = Text(name, style="bold")
    if len(name) + 3 + len(facts) <= options.width:
        return [line.append(f"   {facts}", style="not bold")]
    return [line, *paragraph(facts, options.width)]


def verdict(report: Report, options: Options = DEFAULTS) -> Lines:
    """Return whether the laws hold, in a sentence."""
    return paragraph(_verdict(report), options.width, style=_STYLES[report.verdict])


def _verdict(report: Report) -> str:
    counts = report.counts
    judged = counts["passed"] + counts["failed"] + counts["errors"]
    unexpected = [result for result in report.results if is_unexpected(result)]
    failed = sum(result.status == "failed" for result in unexpected)
    wrong = {
        "do not hold" if failed != 1 else "does not hold": failed,
        "could not be judged": len(unexpected) - failed,
        "was not tried" if counts["not_tried"] == 1 else "were not tried": counts["not_tried"],
    }
    first, *more = [f"{number:,} {{}}{what}" for what, number in wrong.items() if number] or [""]
    if not judged:
        return "! No law was judged"
    if first:
        mark = CROSS if report.verdict == "violates" else MARK
        of_all = f"of {counted(judged + counts['not_tried'], 'law')} "
        return f"{mark} {joined([first.format(of_all), *(part.format('') for part in more)])}"
    if report.stale:
        return f"{CROSS} The list of expected failures is not true any more"
    return "✓ All declared laws hold" + (
        ", but for the expected failures" if counts["failed"] + counts["errors"] else ""
    )


def summary(report: Report) -> Text:
    """Return the line of counts."""
    counts = report.counts
    expected = sum(result.expected_failure is not None for result in report.results)
    parts = [
        f"{counted(counts['passed'], 'law')} held",
        f"{counts['failed']:,} violated",
        counted(counts["errors"], "error"),
        f"{expected:,} of these expected" if expected else "",
        counted(len(report.stale), "stale entry", "stale entries") if report.stale else "",
        f"{counts['not_declared']:,} not declared",
        f"{counts['not_tried']:,} not tried" if counts["not_tried"] else "",
    ]
    text = f"{joined(parts)}; {counted(counts['cases'], 'case')} in {report.seconds:.1f} s"
    judged = counts["passed"] + counts["failed"] + counts["errors"]
    beginning = ("Not every law was tried: " if judged else "No law was judged: ") if report.verdict == "error" else ""
    return Text(f"{beginning}{text}", style=_STYLES[report.verdict])


def _expected_failures(report: Report, options: Options) -> Lines:
    known = [result for result in report.results if result.expected_failure is not None]
    if not known:
        return []
    lines = [Text("Expected failures", style="bold")]
    for result in known:
        lines += entry(result.law.id, plain(result.expected_failure), options.width, indent=2, label_width=44)
    return lines


def _stale(report: Report, options: Options) -> Lines:
    if not report.stale:
        return []
    lines = [Text("Entries of the list of expected failures that are no longer true", style="bold red")]
    for sentence in report.stale:
        lines += paragraph(plain(sentence), options.width, 2)
    return lines + (entry("repair", options.repair, options.width, indent=2, label_width=8) if options.repair else [])


def _notices(report: Report, options: Options) -> Lines:
    lines: Lines = []
    for notice in report.notices:
        lines += entry(
            "" if lines else "Notices",
            plain(notice, _LONGEST_NOTICE),
            options.width,
            indent=0,
            label_width=LABEL_OF_SECTION,
            style="yellow",
        )
    return lines
