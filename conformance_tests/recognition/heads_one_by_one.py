"""Attention that is written head by head, each head a sublayer of its own: which keys each head reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.suspicion import LIKELY, Suspicion, suspected


def heads_one_by_one(model: ModelReading) -> Iterator[list[Layered]]:
    """Yield attentions of one head each that follow each other in a layer, two at least."""

    def place(one: Layered) -> tuple[object, ...]:
        is_single = one.attention is not None and one.attention.head_count == 1 and one.is_judged
        return (one.stack, one.layer, one.kind, one.path) if is_single else (id(one),)

    for _, members in groupby(model.readings, key=place):
        # Heads that share keys begin with the same map.
        found = sorted(members, key=lambda one: one.place.sublayer.exit.step)
        if len(found) > 1:
            yield found


def keys_read(members: Sequence[Layered]) -> list[int]:
    """Return which keys each head reads, numbered as they are first read."""
    maps = [one.attention.sublayer.key[0] for one in members if one.attention is not None]
    order = list(dict.fromkeys(map_.step for map_ in maps))
    return [order.index(map_.step) for map_ in maps]


def departures_of_heads_one_by_one(model: ModelReading) -> Iterator[Departure]:
    """Yield layers whose heads share keys, and neighbouring heads read others."""
    for members in heads_one_by_one(model):
        read = keys_read(members)
        groups = len(set(read))
        each = len(read) // groups
        right = [head // each for head in range(len(read))]
        if 1 < groups < len(read) and len(read) % groups == 0 and read != right:
            shown, wanted = (", ".join(map(str, one)) for one in (read, right))
            sentence = f"the query heads read the key heads {shown}; each should serve as many in turn: {wanted}"
            one = members[0]
            item = Suspicion("key", one.first_step, sentence, (suspected("gqa_head_index_wrong", LIKELY),))
            yield departure(model, one.path, one.layer, one.kind, item)
