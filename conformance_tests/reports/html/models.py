"""A whole model: the tree of its parts, a card for each departure, and the laws of the model and of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veriformer.conformance_tests.core.law_result import is_broken
from veriformer.conformance_tests.core.text import counted, first_few, plain
from veriformer.conformance_tests.recognition.findings import Departure, Part, Suspected
from veriformer.conformance_tests.reports.departures import confidence_word, gathered, place_of, quoted
from veriformer.conformance_tests.reports.html.blocks import (
    Block,
    Card,
    Code,
    Drawing,
    Facts,
    Fold,
    LawList,
    Marks,
    Prose,
    Section,
    Sentence,
)
from veriformer.conformance_tests.reports.html.cards import Drawer, law_row, mistake_blocks
from veriformer.conformance_tests.reports.html.faults import Fault, faults_of
from veriformer.conformance_tests.reports.model import (
    Row,
    counts_sentence,
    difference_sentences,
    model_rows,
    part_words,
    unread_places,
)
from veriformer.conformance_tests.reports.places import shown_file
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.pictures.model import Node, Tree
from veriformer.pictures.model import Status as NodeStatus

_MOST_SUSPECTS = 4
_LONGEST = 2000


def model_sections(report: ModelReport) -> list[Section]:
    """Return the sections of a model: what is wrong, its parts, its laws, and what else there is to know."""
    drawer = Drawer()
    cards: list[Block] = [_departure(number, group) for number, group in enumerate(gathered(report.departures), 1)]
    cards += [card for judged in report.laws for card in drawer.cards(_counting(judged), judged.path)]
    sections = [Section("wrong", "What is wrong", tuple(cards))] if cards else []
    sections.append(Section("parts", "The parts of the model", tuple(_parts(report))))
    sections.append(Section("tried", "What was tried", tuple(_laws(report))))
    remarks = tuple(_remarks(report))
    return [*sections, Section("remarks", "Remarks", remarks)] if remarks else sections


def _counting(judged: Judged) -> tuple[Fault, ...]:
    """Return the faults of a module that count: correct models may break a law that they should obey."""
    ids = {result.law.id for result in judged.broken}
    return tuple(fault for fault in faults_of(judged.report) if ids & {*fault.ids})


def _departure(number: int, group: Sequence[Departure]) -> Card:
    one = group[0]
    place = place_of(group)
    names = tuple(suspect.name for suspect in one.suspects[:1])
    return Card(
        f"departure-{number}",
        (f"{place}: ", Sentence(plain(one.sentence, _LONGEST).rstrip("."))),
        "broken",
        tuple(_departure_blocks(one)),
        name=plain(names[0]) if names else "",
        sure=confidence_word(one.suspects[0]) if names else "",
        marks=Marks((), (one.operation,) if one.operation else (), "broken", names),
    )


def _departure_blocks(one: Departure) -> Iterator[Block]:
    step = plain(one.step).replace("_", " ")
    operation = f", of {plain(one.operation)}" if one.operation and one.operation != one.step else ""
    yield Facts((("step", f"{step}{operation}"),))
    code = quoted(one.file, one.line)
    if one.file:
        place = f"{plain(shown_file(one.file), 1000)}:{one.line}"
        yield Code(code, place=place) if code else Facts((("where", place),))
    if not one.suspects:
        yield Prose("No known mistake gives what the model computes there.", "doubtful")
    elif len(one.suspects) == 1:
        yield from _suspect(one.suspects[0])
    else:
        yield Prose("Each of these gives what the model computes there; the likeliest first:")
        for suspect in one.suspects[:_MOST_SUSPECTS]:
            yield Fold(f"{plain(suspect.name)} ({confidence_word(suspect)})", tuple(_suspect(suspect)))


def _suspect(suspect: Suspected) -> Iterator[Block]:
    yield Prose(Sentence(f"What it is: {plain(suspect.sentence, _LONGEST).rstrip('.')}."))
    yield from mistake_blocks(suspect.name)


def _parts(report: ModelReport) -> Iterator[Block]:
    yield Prose(counts_sentence(report))
    if report.parts:
        yield Drawing(parts_tree(report.parts))


def parts_tree(parts: Sequence[Part]) -> Tree:
    """Return the parts of a model as a tree; layers that are alike are one node."""
    nodes: list[Node] = []
    inside: list[Node] = []
    heading = ""
    for row in [*model_rows(parts, folded=True), ""]:
        if isinstance(row, Row) and row.is_in_layer:
            inside.append(_node(row))
            continue
        if heading:
            nodes.append(_layer(heading, tuple(inside)))
        heading, inside = (row, []) if isinstance(row, str) else ("", [])
        if isinstance(row, Row):
            nodes.append(_node(row))
    return Tree("Parts in the order in which they run", tuple(nodes))


def _layer(heading: str, children: tuple[Node, ...]) -> Node:
    order: tuple[NodeStatus, ...] = ("departs", "unrecognised", "holds", "plain")
    statuses = {child.status for child in children}
    worst = next((status for status in order if status in statuses), order[-1])
    return Node(heading, "", worst, children=children)


def _node(row: Row) -> Node:
    return Node(row.label, part_words(row.part), row.part.status)


def _laws(report: ModelReport) -> Iterator[Block]:
    for judged in report.laws:
        name = f"{plain(judged.path)} ({judged.operation})" if judged.is_part else "The whole model"
        if judged.reason:
            yield Prose(f"{name}: no laws were tried: {plain(judged.reason)}", "doubtful")
        passed = [one for one in judged.report.results if one.status == "passed"]
        if passed:
            marks = Marks((), (judged.operation,), "held")
            rows = tuple(law_row(one) for one in passed)
            holds = "holds" if len(passed) == 1 else "hold"
            yield Fold(f"{name}: {counted(len(passed), 'law')} {holds}", (LawList(rows, marks),), marks=marks)
        allowed = [one for one in judged.report.results if is_broken(one) and one not in judged.broken]
        for one in allowed:
            said = (
                plain(one.reason)
                if one.status == "error"
                else "correct models differ in this, so that it does not count"
            )
            yield Prose(f"{name}: {one.law.id} does not hold or could not be judged: {said}", "quiet")
        absent = [one.law.claim.key for one in judged.report.results if one.status == "not_declared"]
        if absent and not judged.is_part:
            yield Prose(f"{name}: {counted(len(absent), 'law')} not declared: {first_few(absent, 20)}", "quiet")


def _remarks(report: ModelReport) -> Iterator[Block]:
    recognition = report.recognition
    for sentence in difference_sentences(report):
        yield Prose(Sentence(f"{sentence}."), "doubtful")
    for place, count in unread_places(report):
        yield Prose(
            f"{counted(count, 'step')} in {place} {'was' if count == 1 else 'were'} not understood.", "doubtful"
        )
    if recognition.unused_in_words:
        names = first_few([plain(name) for name in recognition.unused_in_words], 20)
        yield Prose(f"No output depends on these parameters: {names}.")
    for path, reason in recognition.opaque.items():
        yield Prose(f"The inside of {plain(path) or 'the model'} was not seen: {plain(reason, _LONGEST)}.")
