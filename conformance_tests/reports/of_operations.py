"""Operation by operation: how many laws hold; where some do not, the mistake, one case, and the other laws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from rich.text import Text
from veriformer.conformance_tests.core.law_result import LawResult, Status, is_broken, is_unexpected
from veriformer.conformance_tests.core.ranking import most_telling_first
from veriformer.conformance_tests.core.text import counted, first_few, joined
from veriformer.conformance_tests.reports.definitions import place_words
from veriformer.conformance_tests.reports.diagnoses import conclusion, told_before
from veriformer.conformance_tests.reports.gist import mistake_in_words
from veriformer.conformance_tests.reports.layout import Lines, entry, heading, paragraph, spaced
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.undeclared import is_absent, missing_features
from veriformer.conformance_tests.reports.unjudged import as_before, said_before, unjudged
from veriformer.conformance_tests.reports.violation import CROSS, violation
from veriformer.conformance_tests.run.report import Report

# The width of the labels in the first lines of a report.
LABEL_OF_SECTION = 14
_FOLLOWS = "cause below"
_MOST_NAMED = 2


def by_operation(report: Report) -> dict[str, list[LawResult]]:
    """Return the results of every declared operation, by its name."""
    groups: dict[str, list[LawResult]] = {}
    for result in report.results:
        groups.setdefault(result.law.operation.name, []).append(result)
    return {name: results for name, results in groups.items() if not all(map(is_absent, results))}


def broken_operations(report: Report, options: Options) -> list[Lines]:
    """Return for each operation that breaks laws or could not be judged everything about it.

    What only follows from another operation comes before what is wrong by itself.
    """
    groups = _groups(report, broken=True)
    column = _column(groups, options.width)
    briefly: Lines = []
    wrong: list[Lines] = []
    for name, results in groups.items():
        if _follows_from_another(report, name) and not options.verbose:
            briefly += _following(name, results, column, options)
        else:
            wrong.append(_broken(report, name, results, column, options))
    return [[*briefly, *wrong[0]], *wrong[1:]] if wrong else []


def mistakes_found(report: Report, options: Options) -> Lines:
    """Return a line for each operation that is wrong by itself: its mistake, and where it stands; nothing for one."""
    named = {
        name: joined([mistake_in_words(report, name), place_words(report, name)])
        for name in _groups(report, broken=True)
        if not _follows_from_another(report, name)
    }
    if len(named) < 2:
        return []
    column = _column(named, options.width - 2)
    lines = (entry(name, text, options.width, indent=2, label_width=column) for name, text in named.items())
    return [heading("What is wrong"), *(line for its in lines for line in its)]


def other_operations(report: Report, options: Options, *, only_doubtful: bool = False) -> Lines:
    """Return a line for each operation that breaks no law, but for those that are expected to.

    With `only_doubtful` it is one for each of which not every law was seen to hold.
    """
    groups = _groups(report, broken=False)
    groups = {name: results for name, results in groups.items() if _is_doubtful(results) or not only_doubtful}
    column = _column(groups, options.width)
    return [line for name, results in groups.items() for line in _counts(report, name, results, column, options)]


def others_in_brief(report: Report, options: Options) -> Lines:
    """Return in one entry which operations break no law, and of how many laws; nothing for none.

    It is for a report whose screen belongs to what is wrong. An operation with laws that were not tried, or that are
    expected to fail, has a line of its own below.
    """
    whole = [(name, results) for name, results in _groups(report, broken=False).items() if not _is_doubtful(results)]
    if not whole:
        return []
    passed = sum(result.status == "passed" for _, results in whole for result in results)
    text = f"{joined([name for name, _ in whole])} ({counted(passed, 'law')})"
    return entry("Hold", text, options.width, indent=0, label_width=LABEL_OF_SECTION)


def _is_doubtful(results: Iterable[LawResult]) -> bool:
    return any(is_broken(result) or result.status == "not_tried" for result in results)


def tally(results: Iterable[LawResult], *, verbose: bool = False) -> str:
    """Return the counts of one operation in words; laws that are not declared count if `verbose`."""
    counts: Counter[Status] = Counter(result.status for result in results)
    failed = counts["failed"]
    return joined(
        [
            f"{counts['passed']} {'law holds' if counts['passed'] == 1 else 'laws hold'}",
            f"{failed} {'does' if failed == 1 else 'do'} not" if failed else "",
            f"{counts['error']} could not be judged" if counts["error"] else "",
            f"{counts['not_declared']} not declared" if counts["not_declared"] and verbose else "",
            f"{counts['not_tried']} not tried" if counts["not_tried"] else "",
        ]
    )


def failures(report: Report, results: list[LawResult], options: Options) -> Lines:
    """Return why one operation breaks laws: the errors, the most telling law with its case, and the mistake."""
    violated = [result for result in most_telling_first(results) if is_unexpected(result)]
    errors = [result for result in results if result.status == "error" and is_unexpected(result)]
    if not violated and not errors:
        return []
    operation = results[0].law.operation.name
    again = {} if options.verbose else said_before(report, errors)
    said = {result.law.id for its in again.values() for result in its}
    # The same mistake was shown on a case of an earlier operation.
    in_full = len(violated) if options.verbose else 0 if told_before(report, operation) else 1
    compact = replace(options, compact=not options.verbose)
    sections = [
        as_before(again, options),
        unjudged(report, [result for result in errors if result.law.id not in said], options),
        *(violation(report, one, compact) for one in reversed(violated[:in_full])),
        conclusion(report, operation, compact),
    ]
    # The heading has said how many there are where one is shown.
    return [*([] if in_full else _in_brief(violated, options)), *spaced(sections)]


def _groups(report: Report, *, broken: bool) -> dict[str, list[LawResult]]:
    groups = by_operation(report).items()
    return {name: results for name, results in groups if any(map(is_unexpected, results)) == broken}


def _column(names: Iterable[str], width: int) -> int:
    """Return where the counts begin: behind the longest name, unless the page is too narrow for that."""
    return min(max(map(len, names), default=0) + 3, width // 2)


def _broken(report: Report, name: str, results: list[LawResult], column: int, options: Options) -> Lines:
    return [*_counts(report, name, results, column, options), *failures(report, results, options)]


def _following(name: str, results: list[LawResult], column: int, options: Options) -> Lines:
    return _heading(name, f"{tally(results)}: {_FOLLOWS}", column, options.width, "red")


def _counts(report: Report, name: str, results: list[LawResult], column: int, options: Options) -> Lines:
    style = "red" if any(map(is_unexpected, results)) else "yellow" if _is_doubtful(results) else "green"
    derived = name in report.derived
    counts = tally(results, verbose=options.verbose) + (", derived" if derived and not options.verbose else "")
    # One of them is shown with its case.
    if not options.verbose and sum(is_unexpected(result) and result.status == "failed" for result in results) > 1:
        counts += " (--verbose)"
    lines = _heading(name, counts, column, options.width, style)
    notes = [_origin(report, name)] if derived and options.verbose else []
    notes += missing_features(results) if options.verbose else []
    return lines + [
        line for note in notes for line in entry("", note, options.width, indent=0, label_width=column, style="dim")
    ]


def _heading(name: str, counts: str, column: int, width: int, style: str) -> Lines:
    """Return the name of an operation and its counts, on two lines where one is too short for both."""
    lines = entry("", counts, width, indent=0, label_width=column, style=style)
    if len(name) >= column:
        return [Text(name), *lines]
    return [Text(name.ljust(column)).append_text(lines[0][column:]), *lines[1:]]


def _origin(report: Report, operation: str) -> str:
    return f"derived from {report.derived[operation]} by automatic differentiation"


def _follows_from_another(report: Report, operation: str) -> bool:
    """Return whether an operation was derived from one that breaks laws itself."""
    origin = report.derived.get(operation)
    return any(result.law.operation.name == origin for result in report.results if is_unexpected(result))


def _in_brief(results: list[LawResult], options: Options) -> Lines:
    """Return violations by id, of which none is shown with its case."""
    if not results:
        return []
    number = counted(len(results), "law")
    shown = first_few([result.law.id for result in results], _MOST_NAMED)
    return paragraph(f"{CROSS} {number} (--verbose): {shown}", options.width, 2, "red")
