"""The page of what changed from an old report to a new one."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.reports.changes.comparing import WHATS, Change, Changes
from veriformer.conformance_tests.reports.changes.presenting import name_words
from veriformer.conformance_tests.reports.changes.recorded import Status
from veriformer.conformance_tests.reports.html.blocks import Block, Drawing, Page, Prose, Section, Sentence, Table
from veriformer.conformance_tests.reports.html.data import embedded
from veriformer.conformance_tests.reports.html.environment import versions
from veriformer.conformance_tests.reports.html.rendering import rendered
from veriformer.conformance_tests.reports.json_report import strict
from veriformer.pictures.model import Cell, Grid
from veriformer.spec.laws import LAWS

_STATUSES: tuple[Status, ...] = ("held", "broken", "untried")
_WORDS: dict[Status, str] = {"held": "holds", "broken": "broken", "untried": "not tried"}


def changes_page(changes: Changes, old: str, new: str, *, command: str = "") -> str:
    """Return the page; `old` and `new` are the names of the two reports."""
    sections = [
        Section("all", "All that was judged", (Drawing(_passages(changes)), *_nothing(changes))),
        *(Section(what.replace(" ", "-"), what.capitalize(), tuple(_table(changes.of(what)))) for what in WHATS),
    ]
    page = Page(
        f"From {plain(old)} to {plain(new)}: Veriformer",
        changes.sentence,
        "broken" if changes.exit_status else "held",
        (("old", plain(old)), ("new", plain(new)), ("versions", versions(()))),
        tuple(section for section in sections if section.blocks),
        command,
        changes.notices,
        embedded("diff", [_as_json(change) for change in changes.changes]),
    )
    return rendered(page)


def _as_json(change: Change) -> dict[str, object]:
    return {
        "change": change.what,
        "subject": strict(change.subject),
        "name": strict(change.name),
        "old": {"status": change.old.status, "named": strict(change.old.named)},
        "new": {"status": change.new.status, "named": strict(change.new.named)},
    }


def _passages(changes: Changes) -> Grid:
    """Return how many things were what before, and are what now."""
    cells = tuple(tuple(_cell(changes, old, new) for new in _STATUSES) for old in _STATUSES)
    names = tuple(_WORDS[status] for status in _STATUSES)
    return Grid("What it was, and what it is now", cells, "old", "new", names, names)


def _cell(changes: Changes, old: Status, new: Status) -> Cell:
    number = changes.passages[old, new]
    return Cell(f"{number}", "wrong" if number and new == "broken" != old else "plain")


def _nothing(changes: Changes) -> Iterator[Block]:
    if not changes.changes:
        yield Prose("Nothing changed.")


def _table(found: tuple[Change, ...]) -> Iterator[Block]:
    if not found:
        return
    several = len({change.subject for change in found}) > 1
    rows = tuple(
        (plain(change.name), *((plain(change.subject),) if several else ()), _statement(change), name_words(change))
        for change in found
    )
    yield Table("", ("what", *(("of",) if several else ()), "statement", "named"), rows)


def _statement(change: Change) -> str:
    law = LAWS.get(change.name.rpartition(" ")[2])
    return Sentence(law.statement) if law is not None else ""
