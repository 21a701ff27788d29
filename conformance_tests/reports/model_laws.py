"""The laws of a whole model and of its parts, for people: those that hold in a line, the others as violations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from rich.text import Text
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.ranking import most_telling_first
from veriformer.conformance_tests.core.text import counted, first_few, joined, plain
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.reports.diagnoses import diagnosis_lines, is_likely
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, headed, paragraph
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.unjudged import by_reason, unjudged
from veriformer.conformance_tests.reports.violation import CROSS, evidence, title, violation
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.model_report import ModelReport

_LABEL = 14
_DRAWS_NUMBERS = "dropout_active_in_eval"
_MOST_NAMED = 2
_WHOLE = "Whole model"
# What the laws about a model as a whole are called in a line, by the beginnings of their keys.
_SUBJECTS = {
    "causal": "causality",
    "padding": "padding",
    "batch": "batch",
    "cache": "cache",
    "gradients": "gradients",
    "loss": "loss",
    "same_call_same_answer": "same answer twice",
    "history_independence": "no state between calls",
    "inputs_unchanged": "inputs unchanged",
}


def laws_tried(report: ModelReport, options: Options) -> Iterator[Lines]:
    """Yield a summary of the laws of the model and of its parts."""
    parts = [judged for judged in report.laws if judged.is_part]
    in_full = [judged for judged in report.laws if options.verbose or not judged.is_part]
    yield [line for judged in in_full for line in _summary(judged, options)]
    if parts and not options.verbose:
        yield _entry("Parts", _parts_sentence(parts), options)


def laws_broken(report: ModelReport, options: Options) -> Iterator[Lines]:
    """Yield the laws of the model and of its parts that do not hold; in a line those that a departure may explain."""
    explained = [] if options.verbose else explained_by_departures(report)
    perhaps = [] if options.verbose else perhaps_by_departures(report)
    ids = {(id(judged), result.law.id) for judged, result in [*explained, *perhaps]}
    for judged in report.laws:
        left = [one for one in judged.report.results if (id(judged), one.law.id) not in ids]
        yield from _of_part(judged, left, options) if judged.is_part else _broken(judged, left, options)
    if explained:
        yield _in_a_line(explained, "with the departure below", options)
    if perhaps:
        yield _in_a_line(perhaps, "too, perhaps by the departure below (--verbose)", options)


def _in_a_line(broken: Sequence[tuple[Judged, LawResult]], how: str, options: Options) -> Lines:
    names = _ids(broken)
    what = f"{counted(len(names), 'law')} {'breaks' if len(names) == 1 else 'break'} {how}"
    return paragraph(f"{CROSS} {what}: {first_few(names, _MOST_NAMED)}", options.width, 2, "red")


def _ids(broken: Sequence[tuple[Judged, LawResult]]) -> list[str]:
    return list(dict.fromkeys(result.law.id for _, result in broken))


def explained_by_departures(report: ModelReport) -> list[tuple[Judged, LawResult]]:
    """Return the broken laws whose diagnosis names a mistake that a departure names too: one cause is told once."""
    named = {suspect.name for departure in report.departures for suspect in departure.suspects}
    # Where each call draws other numbers, or gives NaN, no comparison of two calls tells anything else.
    tells_nothing = _DRAWS_NUMBERS in named or report.recognition.gives_nan
    return [
        (judged, result)
        for judged in report.laws
        for diagnosis in judged.report.diagnoses
        # What no known mistake explains by itself may well come of the departure.
        if (named or report.recognition.gives_nan)
        and (
            tells_nothing
            or not diagnosis.suspects
            or any(named.intersection(one.mistakes) for one in diagnosis.suspects)
        )
        for result in judged.broken
        if result.law.operation.name == diagnosis.operation
        and (tells_nothing or result.law.id not in diagnosis.unexplained)
    ]


def _names_one_of(diagnosis: Diagnosis, named: Collection[str]) -> bool:
    return any(not set(one.mistakes).isdisjoint(named) for one in diagnosis.suspects)


def perhaps_by_departures(report: ModelReport) -> list[tuple[Judged, LawResult]]:
    """Return the broken laws of the model whose mistake is a mere guess, where a departure names a mistake.

    What mixes positions, say, lets the padding in too: a guess from the laws that break is worth nothing beside it.
    """
    if not any(departure.suspects for departure in report.departures):
        return []
    explained = {id(result) for _, result in explained_by_departures(report)}
    return [
        (judged, result)
        for judged in report.laws
        for diagnosis in judged.report.diagnoses
        if not judged.is_part and diagnosis.how == "named_by_laws" and not is_likely(diagnosis.suspects)
        for result in judged.broken
        if result.status == "failed" and result.law.obligation == "must"
        if result.law.operation.name == diagnosis.operation and id(result) not in explained
    ]


def first_broken(report: ModelReport) -> str:
    """Return what the first violated law says of the model, for the verdict; empty where none is violated.

    Laws that a departure explains are left out, and those that it may explain are named alone.
    """
    perhaps = perhaps_by_departures(report)
    left_out = {id(result) for _, result in [*explained_by_departures(report), *perhaps]}
    broken = most_telling_first([one for one in report.broken if id(one) not in left_out])
    names = [one.law.id for one in broken] or _ids(perhaps)
    if not names:
        return ""
    others = f", and {counted(len(names) - 1, 'other law')}" if len(names) > 1 else ""
    statement = f": {plain(broken[0].law.statement).rstrip('.')}" if broken else ""
    return f"breaks {names[0]}{others}{statement}"


def _broken(judged: Judged, results: Sequence[LawResult], options: Options) -> Iterator[Lines]:
    failed = most_telling_first([one for one in results if one.status == "failed"])
    must = [one for one in failed if one.law.obligation == "must"]
    for result in failed:
        if result.law.obligation == "should":
            yield _may_differ(judged, result, options)
    shown = len(must) if options.verbose else 1
    if brief := [result.law.id for result in must[shown:]]:
        number = counted(len(brief), "more law")
        yield paragraph(f"{CROSS} {number} (--verbose): {first_few(brief, _MOST_NAMED)}", options.width, 2, "red")
    for result in reversed(must[:shown]):
        yield violation(judged.report, result, options)
    if must and (explained := diagnosis_lines(judged.report, must[0].law.operation.name, options)):
        yield explained


def _of_part(judged: Judged, results: Sequence[LawResult], options: Options) -> Iterator[Lines]:
    """Yield what is broken in a module, under its path."""
    broken = [one for one in judged.broken if one in results]
    if not broken:
        return
    # There is no script that calls a module with other weights.
    shown = replace(options, verbose=False, compact=not options.verbose)
    yield [Text(f"{plain(judged.path)}, {judged.operation}", style="bold")]
    if errors := [one for one in broken if one.status == "error"]:
        yield unjudged(judged.report, errors, shown)
    yield from _broken(judged, results, shown)


def _parts_sentence(parts: Sequence[Judged]) -> str:
    """Return on which modules the laws of operations were tried, and what came of it."""
    of_each = [f"{plain(one.path)} ({one.operation}, {_tally(one)})" for one in parts]
    return f"laws of operations were tried on {counted(len(parts), 'module')}: {', '.join(of_each)}"


def _tally(judged: Judged) -> str:
    statuses = Counter(one.status for one in judged.report.results)
    said = [
        f"{statuses['passed']} hold",
        f"{len(judged.broken)} broken" if judged.broken else "",
    ]
    return ", ".join(filter(None, said))


def _may_differ(judged: Judged, result: LawResult, options: Options) -> Lines:
    differ = "Correct models differ in this, so that it does not count."
    if not options.verbose:
        return headed(f"! {result.law.id}", f"{result.law.statement} {differ}", options.width, "bold yellow")
    lines = title(result, options.width, "!", "bold yellow")
    lines += paragraph(differ, options.width, 6)
    return [*lines, blank(), *evidence(judged.report, result, options)]


def _summary(judged: Judged, options: Options) -> Lines:
    label = plain(judged.path) or _WHOLE
    if judged.reason:
        laws = "no other laws" if judged.report.results else "no laws"
        return _entry(label, f"{laws} were tried: {plain(judged.reason)}", options, "yellow")
    results = judged.report.results
    passed = [one for one in results if one.status == "passed"]
    absent = _subjects([one for one in results if one.status == "not_declared"], passed)
    hold = f"{counted(len(passed), 'law')} {'holds' if len(passed) == 1 else 'hold'}"
    subjects = _subjects(passed)
    # Several laws may be about one thing, whose name stands here once.
    said = [
        f"{hold} on {', '.join(subjects)}" if passed else "",
        f"not declared: {', '.join(absent)}" if absent else "",
    ]
    lines = _entry(label, "; ".join(filter(None, said)), options)
    for group in by_reason(result for result in results if result.status == "error"):
        laws = joined([result.law.id for result in group])
        lines += _entry("", f"{laws} could not be judged: {plain(group[0].reason)}", options, "yellow")
    return lines


def _subjects(results: Sequence[LawResult], but: Sequence[LawResult] = ()) -> list[str]:
    """Return what laws are about, each subject once; not those that the laws `but` are about."""
    known = {_subject(one) for one in but}
    return [one for one in dict.fromkeys(map(_subject, results)) if one and one not in known]


def _subject(result: LawResult) -> str:
    key = result.law.claim.key
    if result.law.operation.is_black_box:
        return next((name for beginning, name in _SUBJECTS.items() if key.startswith(beginning)), "")
    return key


def _entry(label: str, text: str, options: Options, style: str = "") -> Lines:
    return entry(label, text, options.width, indent=0, label_width=_LABEL, style=style)
