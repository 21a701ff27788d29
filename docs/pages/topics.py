"""`topics/`: a page for each topic: operations, pictures, conventions, derivations and mistakes."""

from __future__ import annotations

from collections.abc import Iterable

from veriformer.conformance_tests.mistakes import Mistake, catalogue
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.derivations import derivation_ids
from veriformer.spec.laws import LawStatement

from pages.figures import of_topic
from pages.laws import laws_of
from pages.markdown import code, counted, formula, notice, page, prose, table
from pages.pictures import drawn
from pages.references import convention_link, derivation_link, law_link, mistake_link, operation_link, topic_page
from pages.topic import Topic, topics

_FEW = 5


def topic_pages() -> dict[str, str]:
    """Return the page of every topic, by its path."""
    return {topic_page(topic.name): _page(topic) for topic in topics()}


def _page(topic: Topic) -> str:
    return page(
        notice("the catalogues"),
        f"# {topic.title}",
        topic.summary,
        _operations(topic),
        *(drawn(picture) for picture in of_topic(topic.name)),
        _section("Conventions", _conventions(topic)),
        _section("Derivations", _derivations(topic)),
        _section("Mistakes", _mistakes(topic)),
    )


def _section(title: str, content: str) -> str:
    return page(f"## {title}", content) if content else ""


def _operations(topic: Topic) -> str:
    rows = (
        (operation_link(one.name, "../"), one.summary, formula(one.formula), str(len(laws_of(one))))
        for one in topic.operations
    )
    return table(("operation", "what it does", "formula", "laws"), rows)


def _laws(topic: Topic) -> list[LawStatement]:
    return [law for operation in topic.operations for law in laws_of(operation)]


def _conventions(topic: Topic) -> str:
    names = {name for operation in topic.operations for name in operation.conventions}
    rows = (
        (convention_link(name, "../"), convention.question, f"{code(value.name)}: {value.meaning}", value.followed_by)
        for name, convention in CONVENTIONS.items()
        if name in names
        for value in convention.values
    )
    return table(("convention", "question", "value", "followed by"), _without_repetition(rows)) if names else ""


def _without_repetition(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return rows whose first two cells are empty where they are those of the row above."""
    kept: list[tuple[str, ...]] = []
    above: tuple[str, ...] = ()
    for row in rows:
        kept.append(("", "", *row[2:]) if row[:2] == above else row)
        above = row[:2]
    return kept


def _derivations(topic: Topic) -> str:
    laws = _laws(topic)
    found = {name: [law for law in laws if law.claim.background == name] for name in derivation_ids()}
    lines = (f"- {derivation_link(name, '../')}: {_few(about)}" for name, about in found.items() if about)
    return "\n".join(lines)


def _few(laws: list[LawStatement]) -> str:
    shown = ", ".join(law_link(law, "../") for law in laws[:_FEW])
    return f"{shown} and {len(laws) - _FEW} more" if len(laws) > _FEW else shown


def _mistakes(topic: Topic) -> str:
    names = {operation.name for operation in topic.operations}
    found = [mistake for mistake in catalogue().values() if names & {*mistake.operations}]
    found.sort(key=lambda mistake: not mistake.citations)
    rows = (_mistake_row(mistake) for mistake in found)
    header = ("mistake", "what goes wrong", "hidden when", "reports")
    return page(f"{counted(len(found), 'mistake')}, reported ones first.", table(header, rows)) if found else ""


def _mistake_row(mistake: Mistake) -> tuple[str, ...]:
    reports = str(len(mistake.citations)) if mistake.citations else ""
    return mistake_link(mistake.slug, "../"), prose(mistake.sentence), prose(mistake.hidden_when), reports
