"""The catalogue of laws, stated by topic: each property once, of all the operations it holds for."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from veriformer.spec.laws.interface import promises
from veriformer.spec.laws.law import LawStatement, Property, Tier, state
from veriformer.spec.topics import topics

__all__ = ["LAWS", "LawStatement", "Property", "Tier", "state"]

# The order of the topics' laws in listings; a topic that is not named here comes last.
_ORDER = (
    *("softmax", "attention", "attention_backward", "merging", "single_head", "multi_head", "normalisation"),
    *("activations", "feed_forward", "rotary", "embedding", "loss", "layers", "models", "black_box"),
    *("masks", "sinusoids", "relative_positions"),
)


def _statements() -> Iterator[LawStatement]:
    stated = {topic.__name__.rpartition(".")[2]: topic.LAWS for topic in topics(sys.modules[__name__], "LAWS")}
    for name in sorted(stated, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER)):
        for operation in dict.fromkeys(law.operation for law in stated[name]):
            yield from promises(operation)
            yield from (law for law in stated[name] if law.operation is operation)


def _catalogue() -> dict[str, LawStatement]:
    laws = tuple(_statements())
    if len({law.id for law in laws}) != len(laws):
        raise ValueError("two laws share an id")
    return {law.id: law for law in laws}


LAWS: Mapping[str, LawStatement] = MappingProxyType(_catalogue())
