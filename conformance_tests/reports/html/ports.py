"""Two whole models: their parts in two columns, a card for each difference, and last what B must change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from veriformer.conformance_tests.core.text import counted, first_few, plain
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.ports.findings import NO_NAME, Difference, PairStatus, PortComparison
from veriformer.conformance_tests.reports.departures import quoted
from veriformer.conformance_tests.reports.html.blocks import (
    Block,
    Bullets,
    Card,
    Facts,
    Fold,
    Marks,
    Prose,
    Section,
    Sentence,
    Status,
    Table,
)
from veriformer.conformance_tests.reports.html.cards import mistake_blocks
from veriformer.conformance_tests.reports.layers import placed
from veriformer.conformance_tests.reports.places import shown_file
from veriformer.conformance_tests.reports.port_places import (
    changes,
    corrections,
    gathered,
    joined_places,
    place_of,
    sentences,
    weights_alike,
)
from veriformer.conformance_tests.reports.ports import counts_sentence, pairs_alike, to_change, weights_sentence

_LONGEST = 1000
_MOST_WEIGHTS = 40
_WORDS: dict[PairStatus, str] = {
    "same": "✓ the same",
    "inside": "≈ differs inside only",
    "differs": "✗ differs",
    "unmatched": "✗ no counterpart",
}


def port_sections(found: PortComparison) -> list[Section]:
    """Return what differs, the parts side by side, the weights, where else they were compared, and what to change."""
    groups = gathered(found.differences)
    sections = [
        Section(
            "wrong", "What differs", tuple(_card(number, group, "broken") for number, group in enumerate(groups, 1))
        ),
        Section("inside", "Differences that no result shows", tuple(_inside(found))),
        Section("parts", "The parts side by side", tuple(_parts(found))),
        Section("weights", "Weights", tuple(_weights(found))),
        Section("situations", "In other situations", tuple(_situations(found))),
        Section("changes", "What must change", tuple(_changes(found))),
    ]
    return [section for section in sections if section.blocks]


def without_sides(sentence: str) -> tuple[str, ...]:
    """Return what is said of a difference, its formulas to be set: A and B alone are the two models and no symbols."""
    parts = re.split(r"\b([AB])\b", sentence)
    return tuple(part if place % 2 else Sentence(part) for place, part in enumerate(parts) if part)


def _inside(found: PortComparison) -> Iterator[Block]:
    for number, group in enumerate(gathered(found.inside), 1):
        yield _card(number, group, "plain", "inside")


def _card(number: int, group: Sequence[Difference], status: Status, prefix: str = "difference") -> Card:
    one = group[0]
    said = [plain(sentence, _LONGEST).rstrip(".") for sentence in sentences(group)]
    situation = f"only {plain(one.situation)}, " if one.situation else ""
    name = "" if one.cause.name == NO_NAME else one.cause.name
    return Card(
        f"{prefix}-{number}",
        (f"{situation}{place_of(group)}: ", *without_sides(said[0])),
        status,
        tuple(_card_blocks(group, said)),
        name=plain(name),
        sure=one.cause.kind,
        marks=Marks((), (one.operation,) if one.operation else (), status, (name,) if name in catalogue() else ()),
    )


def _card_blocks(group: Sequence[Difference], said: Sequence[str]) -> Iterator[Block]:
    one = group[0]
    for sentence in said[1:]:
        yield Prose((*without_sides(sentence), "."))
    step = plain(one.step).replace("_", " ")
    yield Facts((("step", f"{step}, of {plain(one.operation)}" if one.operation not in ("", one.step) else step),))
    sides = (
        _side([(each.path_a, each.layer) for each in group], one.file_a, one.line_a),
        _side([(each.path_b, each.layer) for each in group], one.file_b, one.line_b),
    )
    labels = ("module", "file", "code")
    rows = tuple((label, first, second) for label, first, second in zip(labels, *sides, strict=True) if first or second)
    yield Table("", ("", "A", "B"), rows)
    of_first = corrections(group)
    wanted = [plain(change, _LONGEST) for change in of_first or changes(group)]
    if wanted:
        yield Bullets(tuple(wanted), f"To change in {'A' if of_first else 'B'}")
    yield from mistake_blocks(one.cause.name)


def _side(paths: Sequence[tuple[str, int | None]], file: str, line: int) -> tuple[str, str, str]:
    """Return where a difference is in one of the two models: its modules, the line of code, the code."""
    place = joined_places([placed(path, layer) for path, layer in paths if path])
    return (
        place or "–",
        f"{plain(shown_file(file), _LONGEST)}:{line}" if file else "",
        plain(quoted(file, line), _LONGEST),
    )


def _parts(found: PortComparison) -> Iterator[Block]:
    sides = zip(("A", "B"), (found.first, found.second), found.frameworks, found.dtypes, strict=True)
    facts = [(side, ", ".join(map(plain, names))) for side, *names in sides]
    yield Facts((*facts, *((("inputs", plain(found.inputs)),) if found.inputs else ())))
    rows = tuple(
        (first, second, _part_words(role, summary), _WORDS[status])
        for first, second, role, summary, status in _rows(found)
    )
    if rows:
        yield Table("", ("A", "B", "part", ""), rows)
    yield Prose(counts_sentence(found), "quiet")


def _rows(found: PortComparison) -> Iterator[tuple[str, str, str, str, PairStatus]]:
    for first, second, pair in pairs_alike(found.pairs):
        yield first, second, pair.role, pair.summary, pair.status


def _part_words(role: str, summary: str) -> str:
    role, summary = plain(role).replace("_", " "), plain(summary).replace("_", " ")
    return f"{role} ({summary})" if summary not in ("", role) else role


def _weights(found: PortComparison) -> Iterator[Block]:
    others = weights_alike(one for one in found.weights if one.relation not in ("same", "unknown"))
    texts = [weights_sentence(group) for group in others]
    if texts:
        yield Bullets(tuple(texts[:_MOST_WEIGHTS]))
    if len(texts) > _MOST_WEIGHTS:
        yield Fold(f"{len(texts) - _MOST_WEIGHTS} more", (Bullets(tuple(texts[_MOST_WEIGHTS:])),))
    same = sum(one.relation == "same" for one in found.weights)
    if same:
        yield Prose(f"{counted(same, 'weight')} {'is' if same == 1 else 'are'} the same in both.", "quiet")
    unknown = [plain(name) for one in found.weights if one.relation == "unknown" for name in one.names_a]
    if unknown:
        yield Prose(f"Not found out, and held against nobody: {first_few(list(dict.fromkeys(unknown)), 20)}.", "quiet")


def _situations(found: PortComparison) -> Iterator[Block]:
    if found.smallest:
        yield Prose(f"The smallest input that shows a difference: {plain(found.smallest)}.")
    rows = tuple((plain(one.name), one.status, plain(one.sentence, _LONGEST)) for one in found.situations)
    if rows:
        yield Table("", ("situation", "outcome", "what was found"), rows)


def _changes(found: PortComparison) -> Iterator[Block]:
    for title, wanted in to_change(found):
        yield Bullets(tuple(plain(change, _LONGEST) for change in wanted), title)
