"""The diagnosis of an operation, for people: the mistake, how certain it is, and where to read on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.text import counted, first_few, joined, plain
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect
from veriformer.conformance_tests.diagnosis.explanation import (
    Explanation,
    explanations,
    harmless_choices,
    hidden_conventions,
)
from veriformer.conformance_tests.reports.definitions import place_words
from veriformer.conformance_tests.reports.layout import INDENT, Lines, entry, headed, heading, paragraph
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.run.report import Report

TITLE = "Diagnosis"
# The confidence above which a mistake that is named by its laws is likely.
LIKELY = 0.25
_MOST_SUSPECTS = 4
_MOST_CITATIONS = 2
_MOST_UNEXPLAINED = 3


def diagnosis_lines(report: Report, operation: str, options: Options) -> Lines:
    """Return the diagnosis of an operation; nothing if none was made."""
    number = next((at for at, found in enumerate(report.diagnoses) if found.operation == operation), None)
    if number is None:
        return []
    diagnosis = report.diagnoses[number]
    earlier = told_before(report, operation)
    if earlier is not None and not options.verbose:
        names = _named(diagnosis.suspects[0].mistakes)
        return _opened(f"As in {earlier.operation}: {names}.", options)
    findings = findings_of(report, operation)
    suspects = [(one, explanations(operation, one, findings)) for one in diagnosis.suspects]
    lines = _opened(_opening(diagnosis, suspects, options), options)
    if len(suspects) == 1 and len(suspects[0][1]) == 1:
        lines += _facts(suspects[0][1][0], options)
    else:
        lines += _list(suspects, options)
    return [*lines, *_hidden(diagnosis, findings, options), *_evidence(diagnosis, options)]


def conclusion(report: Report, operation: str, options: Options) -> Lines:
    """Return the diagnosis of an operation, and last where its function stands."""
    place = place_words(report, operation)
    return [*diagnosis_lines(report, operation, options), *(entry("where", place, options.width) if place else [])]


def _opened(opening: str, options: Options) -> Lines:
    if not options.compact:
        return [heading(f"  {TITLE}"), *paragraph(opening, options.width, INDENT)]
    return headed(TITLE, opening, options.width)


def findings_of(report: Report, operation: str) -> Mapping[str, Finding]:
    """Return the findings about the conventions of an operation, by the convention's name."""
    return {finding.convention: finding for finding in report.findings if finding.operation == operation}


Explained = Sequence[tuple[Suspect, tuple[Explanation, ...]]]


def told_before(report: Report, operation: str) -> Diagnosis | None:
    """Return the diagnosis of an earlier operation that names the same mistake with certainty."""
    earlier: list[Diagnosis] = []
    for diagnosis in report.diagnoses:
        if diagnosis.operation == operation:
            same = (
                one
                for one in earlier
                if diagnosis.is_certain and one.suspects[0].mistakes == diagnosis.suspects[0].mistakes
            )
            return next(same, None)
        earlier += [diagnosis] if diagnosis.is_certain else []
    return None


def _opening(diagnosis: Diagnosis, suspects: Explained, options: Options) -> str:
    if diagnosis.problem:
        return f"No mistake was looked for: {plain(diagnosis.problem)}."
    if diagnosis.how == "unknown":
        return _unknown(diagnosis)
    if diagnosis.how == "named_by_laws":
        return _by_laws(suspects, options)
    if len(suspects) > 1:
        return "The outputs are those of one of these, and no drawn input tells which; the likeliest first:"
    suspect, explained = suspects[0]
    if len(explained) == 1:
        only = explained[0]
        name = _named([only.name], only.places)
        sure = "certain: no other known mistake fits"
        if suspect.confidence < 1.0:
            sure = "likely: no other known mistake fits, but the outputs differ where numbers are large"
        return f"The outputs are those of {name} ({sure}): {_sentence(only, options)}"
    computed, others = ([one.name for one in explained if bool(one.changes) is formula] for formula in (True, False))
    if others:
        return f"The outputs are those of {_named(computed)}, and laws that {_named(others)} breaks fail too:"
    return f"The outputs are those of {_named(computed)} together (no single known mistake and no other pair fits):"


def _unknown(diagnosis: Diagnosis) -> str:
    if not diagnosis.excluded:
        return "No known mistake explains what is wrong."
    tried = f"{diagnosis.excluded:,} that were computed, alone and in pairs"
    left = f" {counted(diagnosis.untried, 'less likely pair')} were not tried." if diagnosis.untried > 1 else ""
    return f"No known mistake explains what is wrong: none of the {tried}, gives these outputs.{left}"


def _by_laws(suspects: Explained, options: Options) -> str:
    """Return the sentence about suspects that were named by the laws that fail."""
    said = "Likely" if is_likely([suspect for suspect, _ in suspects]) else "Perhaps"
    if len(suspects) == 1 and len(suspects[0][1]) > 1:
        names = _named([one.name for one in suspects[0][1]])
        return f"{said} {names}, independently of each other (laws that they break fail):"
    if len(suspects) == 1:
        only = suspects[0][1][0]
        return f"{said} {_named([only.name])} (laws that it breaks fail): {_sentence(only, options)}"
    return f"{said} one of these, whose laws fail; the likeliest first:"


def is_likely(suspects: Sequence[Suspect]) -> bool:
    """Return whether one of the mistakes that are named by their laws is likely the one that was made."""
    return sum(suspect.confidence for suspect in suspects) >= LIKELY


def _list(suspects: Explained, options: Options) -> Lines:
    lines: Lines = []
    for _, explained in suspects[:_MOST_SUSPECTS]:
        for number, one in enumerate(explained):
            # The second of two mistakes made together.
            mark = "+" if number and len(suspects) > 1 else "-"
            text = f"{mark} {_named([one.name], one.places)}: {_sentence(one, options)}"
            lines += paragraph(text, options.width, INDENT + 2)
            lines += _facts(one, options, INDENT + 4)
    if len(suspects) > _MOST_SUSPECTS:
        lines += paragraph(f"… and {len(suspects) - _MOST_SUSPECTS} more", options.width, INDENT + 2)
    return lines


def _facts(one: Explanation, options: Options, indent: int = INDENT) -> Lines:
    """Return where a mistake was reported, what hides it, and where to read on."""
    most = len(one.citations) if options.verbose else _MOST_CITATIONS
    facts = {
        "met in": "" if options.compact else first_few(one.citations, most) or "no known report",
        "hidden when": "" if options.compact else one.hidden_when,
        "how to look": f"veriformer explain {one.name}" if one.recorded or "=" in one.name else "",
    }
    return [
        line
        for label, text in facts.items()
        if text
        for line in entry(label, plain(text, 2000), options.width, indent=indent)
    ]


def _hidden(diagnosis: Diagnosis, findings: Mapping[str, Finding], options: Options) -> Lines:
    """Return the conventions that the only suspect hides, and the harmless choices beside it."""
    if len(diagnosis.suspects) != 1:
        return []
    hidden = hidden_conventions(diagnosis.operation, diagnosis.suspects[0], findings)
    text = joined(f"{name} {value}" for name, value in hidden.items())
    lines = entry("convention", f"{text}, which the mistake hides", options.width) if text else []
    for choice in harmless_choices(diagnosis.operation, diagnosis.suspects[0]):
        lines += entry("besides", choice, options.width)
    return lines


def _evidence(diagnosis: Diagnosis, options: Options) -> Lines:
    facts = {}
    if diagnosis.how == "reproduced" and len(diagnosis.suspects) > 1:
        none = "no drawn input of any kind that the operation takes"
        facts["distinguished by"] = plain(diagnosis.separated_by) or none
    if diagnosis.unexplained:
        names = first_few(diagnosis.unexplained, _MOST_UNEXPLAINED)
        which = "the mistake" if len(diagnosis.suspects) == 1 else "the first"
        facts["unexplained"] = f"{names}: no program with {which} was seen to break these"
    if options.verbose and diagnosis.calls:
        others = f"{diagnosis.excluded:,} other known decisions and pairs of them do not fit"
        facts["compared"] = joined([counted(diagnosis.calls, "call"), others if diagnosis.excluded else ""])
    return [line for label, text in facts.items() for line in entry(label, text, options.width)]


def _named(names: Sequence[str], places: Sequence[str] = ()) -> str:
    text = " and ".join(f"`{plain(name)}`" for name in names)
    return f"{text} in {' and '.join(places)}" if places else text


def _sentence(one: Explanation, options: Options) -> str:
    """Return what a mistake does and, where there is no room for a line of it, what hides it."""
    hidden = f"; hidden when {one.hidden_when.rstrip('.')}" if options.compact and one.hidden_when else ""
    return f"{one.sentence.rstrip('.')}{hidden}."
