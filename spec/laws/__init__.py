"""The catalogue of laws, stated by topic: each property once, of all the operations it holds for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from veriformer.spec.extensions import Catalogue, Stated
from veriformer.spec.laws.interface import promises
from veriformer.spec.laws.law import LawStatement, Obligation, Property, state
from veriformer.spec.operations.operation import Operation
from veriformer.spec.topics import topics

__all__ = ["LAWS", "LawStatement", "Obligation", "Property", "state"]

# The order of the topics' laws in listings; other topics come last.
_ORDER = (
    *("softmax", "attention", "attention_backward", "additions_backward", "merging", "single_head", "multi_head"),
    "normalisation",
    *("activations", "feed_forward", "rotary", "embedding", "loss", "layers", "models", "black_box"),
    *("masks", "sinusoids", "relative_positions"),
)


def _own() -> Iterator[LawStatement]:
    stated = {topic.__name__.rpartition(".")[2]: topic.LAWS for topic in topics(sys.modules[__name__], "LAWS")}
    for name in sorted(stated, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER)):
        yield from stated[name]


def by_id(stated: Iterable[LawStatement]) -> dict[str, LawStatement]:
    """Return laws by their ids, operation by operation, the common laws of all operations first. ValueError if two
    share an id.
    """
    of_operations: dict[Operation, list[LawStatement]] = {}
    for law in stated:
        of_operations.setdefault(law.operation, [*promises(law.operation)]).append(law)
    laws: dict[str, LawStatement] = {}
    for law in (law for its in of_operations.values() for law in its):
        if law.id in laws:
            raise ValueError(f"two laws have the id {law.id}; give one of them another key")
        laws[law.id] = law
    return laws


def _of_extension(extension: Stated) -> dict[str, LawStatement]:
    return by_id(extension.laws)


LAWS = Catalogue(by_id(_own()), _of_extension)
