"""Two implementations: what agrees, each difference in the smallest case, the conventions, and what B must change."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.conformance_tests.comparison.comparison import CaseComparison, Comparison, OperationComparison
from veriformer.conformance_tests.core.text import first_few, plain
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.reports.arrays import arguments_by_name
from veriformer.conformance_tests.reports.grids import comparison_grids
from veriformer.conformance_tests.reports.html.blocks import (
    Block,
    Bullets,
    Card,
    Drawing,
    Facts,
    Marks,
    Prose,
    Section,
    Sentence,
    Status,
    Table,
)
from veriformer.conformance_tests.reports.html.cards import Drawer
from veriformer.conformance_tests.reports.html.cases import argument_blocks
from veriformer.conformance_tests.reports.html.faults import faults_of
from veriformer.conformance_tests.reports.partings import cause_words, difference_words, short_names, verdict_of_laws
from veriformer.conformance_tests.reports.two_implementations import (
    changes_by_sentence,
    corrections_of_first,
    outcome_words,
    what_one_has,
    why_nothing,
)

_LONGEST = 600
_MOST_OPERATIONS = 4


def comparison_sections(comparison: Comparison) -> list[Section]:
    """Return the differences, the outcomes, the conventions, what only one has, and last what B must change."""
    if not comparison.compared:
        return [Section("wrong", "Nothing was compared", (Prose(why_nothing(comparison), "doubtful"),))]
    sections = [
        Section("wrong", "What differs", tuple(_cards(comparison))),
        Section("outcomes", "The operations", (_outcomes(comparison),)),
        Section("conventions", "Conventions", tuple(_conventions(comparison))),
        Section("one-has", "What only one has", tuple(_one_has(comparison))),
        Section("changes", "What must change", tuple(_changes(comparison))),
    ]
    return [section for section in sections if section.blocks]


def _cards(comparison: Comparison) -> Iterator[Block]:
    drawer = Drawer()
    for operation in comparison.operations:
        for number, found in enumerate(operation.differences, 1):
            if found.cause is not None:
                yield _card(comparison, operation, found, number)
        for name, check in zip(short_names(comparison), operation.checks, strict=True):
            if check is not None:
                yield from drawer.cards(faults_of(check), name)


def _card(comparison: Comparison, operation: OperationComparison, found: CaseComparison, number: int) -> Card:
    cause = found.cause
    said = "" if cause is None else cause_words(cause, comparison)
    status: Status = "plain" if cause is not None and cause.side == "both" else "broken"
    name = operation.operation.name
    return Card(
        f"difference-{name}-{number}",
        f"{name}: they {said}" if said.startswith("differ") else f"{name}: they differ, and {said}",
        status,
        tuple(_card_blocks(comparison, operation, found)),
        sure="a convention" if status == "plain" else "a mistake",
        marks=Marks((), (name,), status),
    )


def _card_blocks(comparison: Comparison, operation: OperationComparison, found: CaseComparison) -> Iterator[Block]:
    yield Facts((("smallest case", Sentence(found.case.describe())),))
    yield from _results(comparison, operation, found)
    yield from argument_blocks("The call", list(arguments_by_name(dict(found.arguments))), operation.operation)
    if found.cause is not None:
        yield Prose(f"The laws {verdict_of_laws(comparison, operation, found.cause)}.")
        for convention in found.cause.conventions:
            if convention in operation.changes:
                yield Facts((("to match", plain(operation.changes[convention], _LONGEST)),))


def _results(comparison: Comparison, operation: OperationComparison, found: CaseComparison) -> Iterator[Block]:
    names = short_names(comparison)
    first, second = found.results
    if first is None or second is None or found.wrong is None:
        results = zip(names, found.results, found.errors, strict=True)
        yield Facts(
            tuple((name, "returns a result" if result is not None else plain(error)) for name, result, error in results)
        )
        return
    for row in comparison_grids(first, second, found.wrong, operation.operation, titles=names):
        yield Drawing(row)
    verdict = Verdict(False, first.astype(float), second.astype(float), found.wrong, found.excess)
    yield Prose(f"Difference: {difference_words(found, verdict)}")


def _outcomes(comparison: Comparison) -> Table:
    rows = tuple((one.operation.name, f"{one.cases}", outcome_words(one, comparison)) for one in comparison.operations)
    return Table("", ("operation", "cases", "outcome"), rows)


def _conventions(comparison: Comparison) -> Iterator[Block]:
    places: dict[tuple[str, str, str], list[str]] = {}
    for operation in comparison.operations:
        for pair in operation.conventions:
            if pair.differ:
                key = (pair.name, plain(pair.first), plain(pair.second))
                places.setdefault(key, []).append(operation.operation.name)
    rows = tuple((*key, first_few(names, _MOST_OPERATIONS)) for key, names in places.items())
    if rows:
        yield Table("", ("convention", *short_names(comparison), "operations"), rows)
    else:
        yield Prose("They follow the same conventions.")


def _one_has(comparison: Comparison) -> Iterator[Block]:
    refused = [
        f"{name} refuses, so that it was not compared: {plain(refusal.words, _LONGEST)}"
        for operation in comparison.operations
        for name, refusals in zip(short_names(comparison), operation.refusals, strict=True)
        for refusal in refusals
    ]
    if items := (*what_one_has(comparison), *refused):
        yield Bullets(items)


def _changes(comparison: Comparison) -> Iterator[Block]:
    first, second = short_names(comparison)
    wanted = {
        f"{first} must change:": corrections_of_first(comparison),
        f"To do as {first} does, {second} must change:": changes_by_sentence(comparison),
    }
    for title, places in wanted.items():
        items = tuple(
            f"{plain(said, _LONGEST)} ({first_few(names, _MOST_OPERATIONS)})" for said, names in places.items()
        )
        if items:
            yield Bullets(items, title)
