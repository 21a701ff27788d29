"""The report for people: operation by operation, then the implementation as a whole, and last the counts."""

from __future__ import annotations

from collections import Counter

from rich.text import Text
from veriformer.conformance_tests.core.law_result import LawResult, Status, is_broken, is_unexpected
from veriformer.conformance_tests.core.text import counted, first_few, joined, plain
from veriformer.conformance_tests.reports.diagnoses import diagnosis_lines
from veriformer.conformance_tests.reports.findings import conventions_found
from veriformer.conformance_tests.reports.layout import INDENT, Lines, as_text, blank, entry, paragraph
from veriformer.conformance_tests.reports.model import model_lines
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.ranking import most_telling_first
from veriformer.conformance_tests.reports.unjudged import MARK, as_before, circumstances, said_before, unjudged
from veriformer.conformance_tests.reports.violation import CROSS, evidence, title, violation
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report

DEFAULTS = Options()
_LABEL = 20
_FOLLOWS = "not shown: the forward pass breaks laws, and so do its gradients (--verbose shows them)"
_SHOWN_IN_FULL = 2
_WITH_STATEMENT = 8
_MOST_REASONS = 3


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
        return f"{MARK} {plain(result.reason)}\n\n{as_text([*circumstances(report, result, options), *explained])}"
    return f"{CROSS} {result.law.statement}\n\n{as_text([*evidence(report, result, options), *explained])}"


def report_lines(report: Report, options: Options = DEFAULTS) -> Lines:
    """Return a whole report; its last line has the counts."""
    if isinstance(report, ModelReport):
        return model_lines(report, options)
    return [headline(report), blank(), *body(report, options), summary(report)]


def body(report: Report, options: Options = DEFAULTS) -> Lines:
    """Return a report without its first line and its last."""
    sections = [
        _operations(report, options),
        _expected_failures(report, options),
        _stale(report, options),
        _notices(report, options),
        [*conventions_found(report, options), *_undeclared_operations(report, options)],
    ]
    lines: Lines = []
    for section in sections:
        if section:
            lines += [*section, blank()] if section[-1].plain else section
    return lines


def details(report: Report, options: Options = DEFAULTS) -> Lines:
    """Return what a table of counts leaves out, ending in an empty line; nothing if it leaves out nothing."""
    lines: Lines = []
    for name, results in _by_operation(report).items():
        failures = _failures(report, results, options)
        lines += [Text(name), blank(), *failures] if failures else []
    sections = [_expected_failures, _stale, _notices, *([conventions_found] if options.verbose else [])]
    for section in sections:
        found = section(report, options)
        lines += [*found, blank()] if found else []
    return lines


def headline(report: Report) -> Text:
    """Return the line that says what was checked, and how."""
    declared = len(_by_operation(report))
    line = Text(plain(report.implementation), style="bold")
    facts = [
        plain(report.framework),
        counted(declared, "operation"),
        f"seed {report.seed}",
        f"tier {report.tier}",
    ]
    return line.append(f"   {joined(facts)}", style="not bold")


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
    style = {"conforms": "bold green", "violates": "bold red", "error": "bold yellow"}[report.verdict]
    judged = counts["passed"] + counts["failed"] + counts["errors"]
    beginning = ("Not every law was tried: " if judged else "No law was judged: ") if report.verdict == "error" else ""
    return Text(f"{beginning}{text}", style=style)


def tally(results: list[LawResult]) -> str:
    """Return the counts of one operation in words."""
    counts: Counter[Status] = Counter(result.status for result in results)
    failed = counts["failed"]
    return joined(
        [
            f"{counts['passed']} {'law holds' if counts['passed'] == 1 else 'laws hold'}",
            f"{failed} {'does' if failed == 1 else 'do'} not" if failed else "",
            f"{counts['error']} could not be judged" if counts["error"] else "",
            f"{counts['not_declared']} not declared" if counts["not_declared"] else "",
            f"{counts['not_tried']} not tried" if counts["not_tried"] else "",
        ]
    )


def _by_operation(report: Report) -> dict[str, list[LawResult]]:
    """Return the results of every declared operation, by its name."""
    groups: dict[str, list[LawResult]] = {}
    for result in report.results:
        groups.setdefault(result.law.operation.name, []).append(result)
    return {name: results for name, results in groups.items() if any(not _is_absent(result) for result in results)}


def _is_absent(result: LawResult) -> bool:
    return result.status == "not_declared" and result.reason == f"no operation {result.law.operation.name}"


def _operations(report: Report, options: Options) -> Lines:
    groups = _by_operation(report)
    column = max((len(name) for name in groups), default=0) + 3
    lines: Lines = []
    for name, results in groups.items():
        unexpected = any(map(is_unexpected, results))
        doubtful = any(is_broken(result) or result.status == "not_tried" for result in results)
        style = "red" if unexpected else "yellow" if doubtful else "green"
        lines.append(Text(name.ljust(column)).append(tally(results), style=style))
        lines += _derivation(report, name, column, options)
        lines += _missing_features(results, column, options)
        if _follows_from_another(report, name) and unexpected and not options.verbose:
            lines += entry("", _FOLLOWS, options.width, indent=0, label_width=column, style="dim")
            continue
        failures = _failures(report, results, options)
        lines += [blank(), *failures] if failures else []
    return lines


def _follows_from_another(report: Report, operation: str) -> bool:
    """Return whether an operation was derived from one that breaks laws itself."""
    origin = report.derived.get(operation)
    return any(result.law.operation.name == origin for result in report.results if is_unexpected(result))


def _derivation(report: Report, operation: str, column: int, options: Options) -> Lines:
    if operation not in report.derived:
        return []
    origin = f"derived from {report.derived[operation]} by automatic differentiation"
    return entry("", origin, options.width, indent=0, label_width=column, style="dim")


def _missing_features(results: list[LawResult], column: int, options: Options) -> Lines:
    reasons = Counter(
        plain(result.reason).removeprefix(f"{result.law.operation.name} has ")
        for result in results
        if result.status == "not_declared"
    )
    missing = [f"{reason} ({counted(number, 'law')})" for reason, number in reasons.most_common()]
    if not missing:
        return []
    shown = first_few(missing, len(missing) if options.verbose else _MOST_REASONS)
    return entry("", shown, options.width, indent=0, label_width=column, style="dim")


def _failures(report: Report, results: list[LawResult], options: Options) -> Lines:
    """Return the violations of one operation: the most informative in full, the diagnosis, then the others."""
    violated = [result for result in most_telling_first(results) if is_unexpected(result)]
    in_full = len(violated) if options.verbose else _SHOWN_IN_FULL
    lines: Lines = []
    for result in violated[:in_full]:
        lines += [*violation(report, result, options), blank()]
    errors = [result for result in results if result.status == "error" and is_unexpected(result)]
    # Before the other laws, which may be twenty and say less.
    if explained := diagnosis_lines(report, results[0].law.operation.name, options) if violated or errors else []:
        lines += [*explained, blank()]
    again = {} if options.verbose else said_before(report, errors)
    said = {result.law.id for its in again.values() for result in its}
    lines += _in_brief(violated[in_full:], options)
    lines += unjudged(report, [result for result in errors if result.law.id not in said], options)
    return [*lines, *as_before(again, options)]


def _in_brief(results: list[LawResult], options: Options) -> Lines:
    """Return violations without their cases: the first with the statements of their laws, the others by id."""
    if not results:
        return []
    lines = [line for result in results[:_WITH_STATEMENT] for line in title(result, options.width)]
    if left := [result.law.id for result in results[_WITH_STATEMENT:]]:
        line = Text(f"  {CROSS} ", style="bold red")
        lines.append(
            line.append(f"{counted(len(left), 'more law')} that {'does' if len(left) == 1 else 'do'} not hold")
        )
        lines += paragraph(", ".join(left), options.width, INDENT)
    return [*lines, *paragraph("(--verbose shows their cases too)", options.width, INDENT, "dim"), blank()]


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
            plain(notice),
            options.width,
            indent=0,
            label_width=_LABEL,
            style="yellow",
        )
    return lines


def _undeclared_operations(report: Report, options: Options) -> Lines:
    absent = Counter(result.law.operation.name for result in report.results if _is_absent(result))
    if not absent:
        return []
    names = first_few([f"{name} ({number})" for name, number in absent.items()], len(absent))
    text = f"{names} {'laws' if sum(absent.values()) > 1 else 'law'}"
    return entry("Not declared", text, options.width, indent=0, label_width=_LABEL, style="dim")
