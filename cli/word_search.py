"""Finding mistakes, laws, operations and conventions by words, for those who do not know what they are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veriformer.conformance_tests.reports.layout import Lines

MOST_FOUND = 6
# Of what the words weigh that were given, so much must be met, and so much of the best that is.
_LEAST_MET, _LEAST_OF_BEST = 0.5, 0.6
_IN_NAME, _IN_SENTENCE, _ALIKE = 1.0, 0.6, 0.7
_SHORTEST_STEM = 4
_WORD = re.compile(r"[a-z0-9√γβε]+")
_OF_NO_MEANING = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "has", "have", "how"),
        *("i", "if", "in", "instead", "is", "it", "its", "my", "not", "of", "on", "or", "that", "the", "their"),
        *("there", "this", "to", "too", "was", "what", "when", "where", "which", "why", "with"),
    )
)
# Words that people use for one another here; each is looked for as all of its group.
_SYNONYMS = (
    "missing forgot forgotten forgets ignored ignores dropped drops omitted without lacks discarded absent",
    "wrong incorrect mistaken bad",
    "inverted flipped reversed negated opposite",
    "swapped exchanged switched",
    "rope rotary rotation",
    "norm normalisation normalization normalised layernorm rmsnorm",
    "eps epsilon",
    "causal future",
    "scale scaling scaled √d",
    "padding padded pad",
    "twice double doubled",
    "position positions positional",
    "gqa grouped",
)
_ENDINGS = ("ations", "ation", "ing", "ed", "es", "s", "e")


@dataclass(frozen=True)
class Entry:
    """Something that has a name; `kind` is what it is."""

    name: str
    kind: str
    sentence: str
    more: str = ""


def found_by_words(words: str) -> list[Entry]:
    """Return the few entries that some words fit best, the best first; none where too little of them is met."""
    asked = list(dict.fromkeys(_stems(words)))
    entries = [*_entries()]
    named = [Counter(_stems(entry.name)) for entry in entries]
    said = [Counter(_stems(f"{entry.sentence} {entry.more}")) for entry in entries]
    weights = {one: _rarity(one, [a | b for a, b in zip(named, said, strict=True)]) for one in asked}
    whole = sum(weights.values())
    if not whole:
        return []
    scored = [
        (sum(weights[one] * _fit(one, name, sentence) for one in asked) / whole, -len(name), entry)
        for name, sentence, entry in zip(named, said, entries, strict=True)
    ]
    scored.sort(key=lambda one: one[:2], reverse=True)
    least = max(_LEAST_MET, _LEAST_OF_BEST * scored[0][0])
    return [entry for score, _, entry in scored[:MOST_FOUND] if score >= least]


def words_page(words: str, found: list[Entry]) -> Lines:
    """Return what some words were found to mean: each name with what it is and one sentence."""
    from veriformer.cli.output import page_width
    from veriformer.conformance_tests.core.text import plain
    from veriformer.conformance_tests.reports.layout import blank, entry, paragraph

    width = page_width()
    lines = paragraph(f"Nothing is called {plain(words)!r}. By their words, these are nearest:", width)
    for one in found:
        lines += [blank(), *entry(one.name, "", width, indent=2, label_width=0)[:1]]
        lines += paragraph(f"{one.kind}: {one.sentence.rstrip('.')}.", width, 4)
    return [*lines, blank(), *paragraph(f"More about one of them: veriformer explain {found[0].name}", width)]


def _entries() -> Iterator[Entry]:
    from veriformer.conformance_tests.mistakes import catalogue, in_words, remedy
    from veriformer.spec.conventions import CONVENTIONS
    from veriformer.spec.laws import LAWS
    from veriformer.spec.operations import OPERATIONS

    for slug, mistake in catalogue().items():
        yield Entry(slug, "a mistake", mistake.sentence, f"{in_words(slug)} {remedy(slug)}")
    for law in LAWS.values():
        yield Entry(law.id, f"a law of {law.operation.name}", law.statement)
    for operation in OPERATIONS.values():
        yield Entry(operation.name, "an operation", operation.summary)
    for convention in CONVENTIONS.values():
        yield Entry(convention.name, "a convention", convention.question)


def _stems(text: str) -> Iterator[str]:
    """Yield the words of a text that mean something, each without its ending, and as the first of its synonyms."""
    for word in _WORD.findall(text.lower().replace("_", " ")):
        if word not in _OF_NO_MEANING:
            yield _GROUPS.get(_stem(word), _stem(word))


def _stem(word: str) -> str:
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= _SHORTEST_STEM), "")
    return word.removesuffix(ending)


_GROUPS = {_stem(word): _stem(group.split()[0]) for group in _SYNONYMS for word in group.split()}


def _rarity(word: str, entries: Iterable[Counter[str]]) -> float:
    """Return how much a word tells; what is in few entries tells most, and what is in none counts as such a word."""
    every = [*entries]
    met = sum(any(_are_alike(word, other) for other in one) for one in every)
    return log(1.0 + len(every) / max(met, 1))


def _fit(word: str, name: Counter[str], sentence: Counter[str]) -> float:
    if word in name:
        return _IN_NAME
    if word in sentence:
        return _IN_SENTENCE
    return _ALIKE * _IN_SENTENCE if any(_are_alike(word, one) for one in (*name, *sentence)) else 0.0


def _are_alike(one: str, other: str) -> bool:
    """Return whether one word begins with the other, or is it."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= _SHORTEST_STEM and longer.startswith(shorter))
