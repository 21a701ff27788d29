"""A card for each thing that is wrong with an implementation: what, the smallest case, the code, why, the laws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.diagnosis.explanation import Explanation
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.reports.definitions import definition_of, function_of
from veriformer.conformance_tests.reports.figures import times
from veriformer.conformance_tests.reports.html.blocks import (
    Block,
    Card,
    Code,
    Facts,
    Fold,
    FormulaText,
    LawList,
    LawRow,
    Link,
    Links,
    Marks,
    Prose,
    Sentence,
    Status,
    anchor,
    told,
)
from veriformer.conformance_tests.reports.html.cases import case_blocks, script_blocks
from veriformer.conformance_tests.reports.html.faults import Fault
from veriformer.conformance_tests.reports.html.proofs import proof_blocks
from veriformer.conformance_tests.reports.html.wording import fault_sentence, own_words
from veriformer.conformance_tests.reports.targets import target

_DRAWN_CARDS = 6
_DRAWN_LAWS = 3
_MOST_CITATIONS = 6
_MOST_SUSPECTS = 4
_LONGEST_EXCEPTION = 4000


@dataclass
class Drawer:
    """Makes the cards of a page: the first few in full, the others without their cases, so that it stays small."""

    drawn: int = 0

    def cards(self, faults: Sequence[Fault], place: str = "") -> list[Card]:
        """Return a card for each fault; `place` is the module of a model that they are in."""
        return [self._card(fault, place) for fault in faults]

    def _card(self, fault: Fault, place: str) -> Card:
        in_full = self.drawn < _DRAWN_CARDS
        self.drawn += 1
        sentence = fault_sentence(fault)
        status: Status = "error" if fault.reason else "broken"
        return Card(
            _anchor(fault),
            told(f"{plain(place)}: {sentence}" if place else sentence, own_words(fault)),
            status,
            tuple(_blocks(fault, in_full=in_full)),
            name=" and ".join(map(plain, fault.mistakes)),
            sure=fault.sure,
            marks=Marks(fault.ids, _operations(fault), status, fault.mistakes),
        )


def _anchor(fault: Fault) -> str:
    """Return the name of a fault's place on the page: the mistake's, else that of the first law."""
    return f"mistake-{anchor(fault.mistakes[0])}" if fault.mistakes else f"laws-{anchor(fault.laws[0].law.id)}"


def _operations(fault: Fault) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*fault.operations, *(result.law.operation.name for result in fault.following))))


def _blocks(fault: Fault, *, in_full: bool) -> Iterator[Block]:
    first = fault.laws[0]
    yield from _suspects(fault)
    if fault.reason:
        yield Code(plain(fault.reason, _LONGEST_EXCEPTION))
    if in_full:
        yield from _code(fault)
    shows = "A law that it prevents" if fault.reason else "The law that shows it best"
    yield Prose(Sentence(f"{shows}: {first.law.statement}"))
    if in_full:
        yield from case_blocks(fault.report, first)
        yield Facts(tuple(_formulas(first)))
        yield from proof_blocks(first.law)
        yield from script_blocks(fault.report, first)
    if first.traceback:
        yield Fold("The traceback", (Code(first.traceback[-_LONGEST_EXCEPTION:]),))
    yield from _laws(fault, in_full=in_full)
    if len(fault.explained) == 1:
        for one in fault.explained[0]:
            yield from mistake_blocks(one.name)


def _formulas(result: LawResult) -> Iterator[tuple[str, str]]:
    operation = result.law.operation
    yield "formula", FormulaText(operation.formula)
    if result.law.formula != operation.formula:
        yield "law as formula", FormulaText(result.law.formula)
    yield "source", result.law.claim.source


def _suspects(fault: Fault) -> Iterator[Block]:
    """Yield what is known of the mistake, or of each of several that it may be."""
    if fault.diagnosis is None:
        return
    if fault.diagnosis.problem:
        yield Prose(f"No mistake was looked for: {plain(fault.diagnosis.problem)}.", "doubtful")
    if not fault.explained:
        tried = (
            f" None of the {fault.diagnosis.excluded:,} that were computed, alone and in pairs, gives these outputs."
        )
        yield Prose(f"No known mistake explains it.{tried if fault.diagnosis.excluded else ''}", "doubtful")
        return
    if len(fault.explained) == 1:
        for one in fault.explained[0]:
            yield _explanation(one)
        return
    yield Prose("It is one of these, the likeliest first:")
    for suspect in fault.explained[:_MOST_SUSPECTS]:
        names = " and ".join(plain(one.name) for one in suspect)
        blocks = [block for one in suspect for block in (_explanation(one), *mistake_blocks(one.name))]
        yield Fold(names, tuple(blocks), is_open=suspect is fault.explained[0])
    if fault.diagnosis.separated_by:
        yield Facts((("distinguished by", plain(fault.diagnosis.separated_by, _LONGEST_EXCEPTION)),))


def _explanation(one: Explanation) -> Prose:
    places = f" In {' and '.join(one.places)}." if one.places else ""
    return Prose((Sentence(f"What it is: {plain(one.sentence, _LONGEST_EXCEPTION).rstrip('.')}."), places))


def mistake_blocks(name: str) -> Iterator[Block]:
    """Yield what the catalogue says of a mistake: what hides it, and who met it."""
    known = catalogue().get(name)
    if known is None:
        return
    facts = (
        ("hidden when", Sentence(known.hidden_when)),
        ("effect", Sentence(known.effect)),
        ("to read on", f"veriformer explain {name}"),
    )
    yield Facts(tuple((label, text) for label, text in facts if text))
    if known.citations:
        links = tuple(Link(one.issue, one.url) for one in known.citations[:_MOST_CITATIONS])
        left = len(known.citations) - len(links)
        yield Links(f"Who met it{f' ({left} more)' if left else ''}:", links)


def _code(fault: Fault) -> Iterator[Block]:
    report = fault.report
    function = function_of(fault.operations[0], report.derived, report.taken_as)
    found = definition_of(target(report), function)
    if found is not None:
        yield Code(found.code, place=found.place)


def _laws(fault: Fault, *, in_full: bool) -> Iterator[Block]:
    """Yield the laws that are broken: after the first the next few with their cases, the others in a list."""
    others = fault.laws[1:]
    drawn = [result for result in others[: _DRAWN_LAWS - 1] if result.counterexample] if in_full else []
    number = len(fault.laws)
    does = "could not be judged" if fault.reason else "is broken" if number == 1 else "are broken"
    yield Prose(f"{counted(number, 'law')} {does}:", "quiet")
    yield LawList((law_row(fault.laws[0]),), _marks(fault, fault.laws[:1]))
    for result in drawn:
        row = law_row(result)
        yield Fold(
            (f"{row.law} ", row.statement), tuple(case_blocks(fault.report, result)), marks=_marks(fault, (result,))
        )
    rest = tuple(result for result in others if result not in drawn)
    if rest:
        yield LawList(tuple(map(law_row, rest)), _marks(fault, rest))
    if fault.following:
        rows = tuple(map(law_row, fault.following))
        text = (
            f"{counted(len(rows), 'law')} of the gradients, which are derived from {fault.operations[0]} and follow it"
        )
        yield Fold(text, (LawList(rows, _marks(fault, fault.following)),))


def _marks(fault: Fault, results: Sequence[LawResult]) -> Marks:
    ids = tuple(result.law.id for result in results)
    return Marks(ids, tuple(dict.fromkeys(one.law.operation.name for one in results)), "broken", fault.mistakes)


def law_row(result: LawResult, path: str = "") -> LawRow:
    """Return a law with its statement, and by how much it is broken."""
    note = ""
    if (
        result.counterexample is not None
        and result.status == "failed"
        and result.counterexample.verdict.wrong is not None
    ):
        note = times(result.counterexample.verdict.excess)
    return LawRow(result.law.id, Sentence(result.law.statement), path, note)
