"""Conventions as questions with answers: those that a check found, and those that were identified with evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from veriformer.conformance_tests.conventions.evidence import Evidence
from veriformer.conformance_tests.conventions.identification import Identification, Identified, Told
from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.text import counted, joined, plain
from veriformer.conformance_tests.reports.html.blocks import (
    Block,
    Card,
    Facts,
    Fold,
    Marks,
    Prose,
    Section,
    Sentence,
    Status,
    Text,
)
from veriformer.conformance_tests.reports.identified import grouped
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.conventions import CONVENTIONS, Convention

_HOW = {"declared": "declared", "inferred": "inferred from its results", "standard": "assumed, since nothing shows it"}
_TOLD: Mapping[Told, tuple[str, Status]] = {
    "told": ("known", "held"),
    "untold": ("unknown", "untried"),
    "mistake": ("not accepted", "error"),
    "contradicted": ("contradicted", "broken"),
}
_LONGEST = 600


@dataclass(frozen=True)
class _Answer:
    """What several operations have in common."""

    value: str
    how: str
    standing: tuple[str, ...]


def conventions_section(report: Report) -> Section | None:
    """Return the conventions of an implementation: what is unusual or unknown first, the usual ones folded."""
    groups: dict[str, dict[_Answer, list[str]]] = {}
    for one in report.findings:
        answers = groups.setdefault(one.convention, {})
        answers.setdefault(_answer(one), []).append(one.operation)
    if not groups:
        return None
    notable = {name for name, answers in groups.items() if any(_is_notable(name, answer) for answer in answers)}
    blocks: list[Block] = [block for name in groups if name in notable for block in _asked(name, groups[name])]
    usual = tuple(block for name in groups if name not in notable for block in _asked(name, groups[name]))
    if not notable:
        blocks.append(Prose("All are as usual."))
    number = len(groups) - len(notable)
    if usual:
        blocks.append(Fold(f"{counted(number, 'convention')} as usual", usual))
    return Section("conventions", "Conventions", tuple(blocks))


def _answer(one: Finding) -> _Answer:
    return _Answer(one.value, one.how, one.standing if one.unknown else ())


def _is_notable(name: str, answer: _Answer) -> bool:
    return bool(answer.standing) or answer.value != CONVENTIONS[name].standard


def _asked(name: str, answers: Mapping[_Answer, Sequence[str]]) -> Iterator[Block]:
    convention = CONVENTIONS[name]
    pairs: list[tuple[str, Text]] = [("convention", name), ("question", Sentence(convention.question))]
    for answer, operations in answers.items():
        pairs.append(("answer", _in_words(convention, answer)))
        if len(answers) > 1:
            pairs.append(("in", joined(operations)))
    yield Facts(tuple(pairs))


def _in_words(convention: Convention, answer: _Answer) -> Text:
    if answer.standing:
        fits = " or ".join(map(plain, answer.standing))
        return f"unknown: {fits} fit what it returns; laws were tried with {plain(answer.value)}"
    return f"{plain(answer.value)}, {_HOW.get(answer.how, answer.how)}: ", _meaning(convention, answer.value)


def _meaning(convention: Convention, value: str) -> Sentence:
    return next((Sentence(one.meaning) for one in convention.values if one.name == value), Sentence())


def identified_section(identification: Identification, number: int) -> Section:
    """Return every convention of an implementation with its answers and their evidence, the contradicted first.

    `number` counts the implementations of the page.
    """
    by_convention: dict[str, list[Identified]] = {}
    for item in identification.conventions:
        by_convention.setdefault(item.convention, []).append(item)
    cards = [
        _card(CONVENTIONS[name], group, number) for name, items in by_convention.items() for group in grouped(items)
    ]
    order: tuple[Status, ...] = ("broken", "error", "held", "untried")
    cards.sort(key=lambda card: order.index(card.status))
    name = plain(identification.implementation)
    facts = Facts((("framework", identification.framework), ("operations", joined(identification.operations))))
    return Section(f"conventions-{number}", f"Conventions of {name}", (facts, *cards))


def _card(convention: Convention, group: Sequence[Identified], number: int) -> Card:
    first = group[0]
    word, status = _TOLD[first.told]
    operations = tuple(item.operation for item in group)
    fits = first.fits if first.told == "untold" and first.fits else ()
    pairs: list[tuple[str, Text]] = [
        ("answer", (f"{plain(first.value)}: ", _meaning(convention, first.value))),
        ("how", _HOW.get(first.how, first.how)),
        ("what still fits", " or ".join(map(plain, fits))),
        ("in", joined(operations)),
        ("but", plain(first.reason, _LONGEST)),
    ]
    blocks: list[Block] = [
        Prose(Sentence(convention.question)),
        Facts(tuple((label, text) for label, text in pairs if text)),
    ]
    if first.evidence:
        summary = f"The evidence: {counted(len(first.evidence), 'question')}"
        blocks.append(Fold(summary, tuple(_evidence(first.evidence))))
    value = "unknown" if first.told == "untold" else plain(first.value)
    return Card(
        f"convention-{number}-{convention.name}-{operations[0]}",
        f"{convention.name}: {value}",
        status,
        tuple(blocks),
        sure=word,
        marks=Marks((), operations, status),
    )


def _evidence(evidence: Iterable[Evidence]) -> Iterator[Block]:
    for one in evidence:
        pairs = (
            ("asked", one.asked),
            ("came", plain(one.came, _LONGEST)),
            ("fits", " and ".join(one.fits) or "no value"),
            ("excludes", " and ".join(one.excludes)),
        )
        yield Facts(tuple((label, text) for label, text in pairs if text))
