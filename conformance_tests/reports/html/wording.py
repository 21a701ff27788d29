"""What was found in one sentence, as it stands at the head of a page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from veriformer.conformance_tests.comparison.comparison import Comparison
from veriformer.conformance_tests.conventions.identification import Identification
from veriformer.conformance_tests.core.text import counted, first_few, plain
from veriformer.conformance_tests.mistakes import in_words
from veriformer.conformance_tests.reports.html.blocks import Text, told
from veriformer.conformance_tests.reports.html.faults import Fault, faults_of
from veriformer.conformance_tests.reports.model import verdict_sentence
from veriformer.conformance_tests.reports.partings import short_names
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_LONGEST_REASON = 300
# (name, reason) of what could not be loaded.
Failure = tuple[str, str]


def check_sentence(reports: Sequence[Report], failures: Sequence[Failure] = ()) -> str:
    """Return the verdict on one implementation or model, or on several."""
    if len(reports) == 1 and not failures:
        return report_sentence(reports[0])
    if len(failures) == 1 and not reports:
        return f"{plain(failures[0][0])} could not be loaded: {plain(failures[0][1], _LONGEST_REASON)}"
    broken = [plain(one.implementation) for one in reports if one.verdict == "violates"]
    unsure = [plain(one.implementation) for one in reports if one.verdict == "error"]
    number = len(reports) + len(failures)
    parts = [
        f"{len(broken)} of {number} break laws or depart: {first_few(broken)}" if broken else "",
        f"{first_few(unsure)} could not be judged as a whole" if unsure else "",
        f"{first_few([plain(name) for name, _ in failures])} could not be loaded" if failures else "",
    ]
    return "; ".join(filter(None, parts)) or f"All {in_number(number)} obey every law that was tried on them"


def typeset_sentence(reports: Sequence[Report], failures: Sequence[Failure] = ()) -> Text:
    """Return the same with the project's own sentences marked, so that their formulas are set."""
    departures = [one.sentence for report in reports if isinstance(report, ModelReport) for one in report.departures]
    faults = [fault for report in reports if report.verdict == "violates" for fault in faults_of(report)]
    own = [plain(one, _LONGEST_REASON).rstrip(".") for one in departures]
    return told(check_sentence(reports, failures), [*own, *chain.from_iterable(map(own_words, faults))])


def report_sentence(report: Report) -> str:
    """Return the verdict on one implementation or model."""
    if isinstance(report, ModelReport):
        return verdict_sentence(report)
    name, counts = plain(report.implementation), report.counts
    if report.verdict == "violates":
        return violated_sentence(report)
    if report.verdict == "conforms":
        expected = sum(result.expected_failure is not None for result in report.results)
        but = f", {counted(expected, 'expected failure')} aside" if expected else ""
        return f"{name} obeys all {counted(counts['passed'], 'law')} that were tried{but}"
    judged = counts["passed"] + counts["failed"] + counts["errors"]
    if not judged:
        return f"No law of {name} was judged: none of the operations asked for is declared"
    return f"{name} obeys {counted(counts['passed'], 'law')}, and {counts['not_tried']:,} more were not tried"


def violated_sentence(report: Report) -> str:
    """Return what is wrong with an implementation that breaks laws, in terms of its mistakes where they are known."""
    name, faults = plain(report.implementation), faults_of(report)
    known = [fault for fault in faults if fault.mistakes]
    certain = [fault for fault in known if fault.is_certain] or known
    if not faults:
        stale = counted(len(report.stale), "expected failure no longer occurs", "expected failures no longer occur")
        return f"{name} breaks no law, but {stale}"
    if not known:
        return f"{fault_sentence(faults[0])}{_others(faults, faults[:1])}"
    if len(certain) > 2:
        names = [mistake for fault in certain for mistake in fault.mistakes]
        said = f"{name} makes {in_number(len(certain))} mistakes: {first_few(names)}"
    else:
        said = f"{', and '.join(map(fault_sentence, certain))}; {laws_say_so(certain)}"
    return f"{said}{_others(faults, certain)}"


def fault_sentence(fault: Fault) -> str:
    """Return one cause as a clause that begins with the operation: "attention lets each query see one key too many"."""
    where = first_few(fault.operations, 2)
    if fault.reason:
        laws = counted(len(fault.laws), "law")
        return f"{laws} of {where} could not be judged: {plain(fault.reason, _LONGEST_REASON)}"
    if not fault.mistakes:
        number = len(fault.laws)
        why = "its mistake was not looked for" if fault.diagnosis is None else "no known mistake explains it"
        return f"{where} breaks {in_number(number)} law{'s' if number > 1 else ''}, and {why}"
    perhaps = "" if fault.is_certain else "perhaps "
    said = [one for name in fault.mistakes if (one := in_words(name))]
    if len(said) == len(fault.mistakes):
        return f"{where} {perhaps}{' and '.join(said)}"
    sentences = [plain(one.sentence, _LONGEST_REASON).rstrip(".") for one in fault.explained[0]]
    return f"{where}{' (perhaps)' if perhaps else ''}: {', and '.join(sentences)}"


def own_words(fault: Fault) -> list[str]:
    """Return the sentences of the catalogue that `fault_sentence` may tell."""
    sentences = [plain(one.sentence, _LONGEST_REASON).rstrip(".") for one in chain.from_iterable(fault.explained[:1])]
    return [*map(in_words, fault.mistakes), *sentences]


def laws_say_so(faults: Sequence[Fault]) -> str:
    """Return how many laws some causes break: "nine laws say so"."""
    number = sum(len(fault.laws) for fault in faults)
    return f"{in_number(number)} {'law says' if number == 1 else 'laws say'} so"


def _others(faults: Sequence[Fault], said: Sequence[Fault]) -> str:
    laws = sum(len(fault.laws) for fault in faults if fault not in said)
    return f" ({counted(laws, 'other law')} {'is' if laws == 1 else 'are'} broken too)" if laws else ""


def in_number(number: int) -> str:
    """Return a small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def comparison_sentence(comparison: Comparison) -> str:
    """Return the verdict on two implementations."""
    first, second = short_names(comparison)
    number = len(comparison.compared)
    parting = [one for one in comparison.compared if not one.agrees]
    if not number:
        return f"{first} and {second} could not be compared"
    if not parting:
        what = "the one operation" if number == 1 else f"all {in_number(number)} operations"
        return f"{first} and {second} agree in {what} that both have"
    if number == 1:
        return f"{second} differs from {first} in the one operation that both have: {parting[0].operation.name}"
    names = first_few([one.operation.name for one in parting])
    return f"{second} differs from {first} in {in_number(len(parting))} of {in_number(number)} operations: {names}"


def identification_sentence(found: Sequence[Identification], failures: Sequence[Failure]) -> str:
    """Return which conventions are known."""
    names = first_few([plain(one.implementation) for one in found])
    if not any(one.operations for one in found):
        return "No convention was asked about: " + (
            f"{plain(failures[0][0])} could not be loaded"
            if failures
            else f"{names} has none of the operations asked for"
        )
    answers = [item for one in found for item in one.conventions]
    contradicted = [item for item in answers if item.told == "contradicted"]
    known = sum(item.told == "told" for item in answers)
    if contradicted:
        which = first_few([f"{one.convention} of {one.operation}" for one in contradicted])
        return f"{names} contradicts what it declares: {which}"
    return f"{known:,} of {counted(len(answers), 'convention')} of {names} are known"
