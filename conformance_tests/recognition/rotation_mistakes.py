"""The mistakes in how one attention turns its queries and keys by their positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step
from veriformer.conformance_tests.recognition.attention_aspects import (
    describe_rotation,
)
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.findings import StepName, Suspected
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.naming import Call, named
from veriformer.conformance_tests.recognition.suspicion import LIKELY, Suspicion, of_named, suspected
from veriformer.conformance_tests.recognition.turning import Turned, changed_width, mixes_pairs, partners, turns_pairs


def rotation_mistakes(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield the mistakes in the rotation of queries and keys by their positions."""
    site = reading.sublayer.sites[0]
    query, key = reading.query, reading.key
    for operand, end in ((query, site.query_value), (key, site.key_value)):
        place = flow.maker(end) or site.first_step
        rotation = operand.rotation
        if rotation is not None and abs(rotation.start) > 1e-3:
            sentence = f"the first position is turned as position {rotation.start:g}, not as position 0"
            yield Suspicion("rotary", place, sentence, (suspected("rope_positions_from_one"),))
            return
        if rotation is not None and rotation.direction < 0 and not _both_backwards(reading):
            sentence = "pairs are turned backwards, by minus their angle"
            yield Suspicion("rotary", place, sentence, (suspected("rope_sign_flipped"),))
            return
    if query.rotation is not None and reading.value.rotation is not None and key.understood and key.rotation is None:
        sentence = "the values are turned by their positions, and the keys are not"
        suspects = (suspected("operands=keys_and_values_swapped", sentence=sentence),)
        yield Suspicion("key", flow.maker(site.key_value) or site.first_step, sentence, suspects)
        return
    if query.understood and key.understood and (query.rotation is None) != (key.rotation is None):
        turned, not_turned = ("query", "key") if key.rotation is None else ("key", "query")
        place = flow.maker(site.key_value if key.rotation is None else site.query_value) or site.first_step
        sentence = f"the {turned} is turned by its position and the {not_turned} is not"
        name = "turned_heads=queries_only" if turned == "query" else "turned_heads=keys_only"
        yield Suspicion("rotary", place, sentence, (suspected(name, sentence=sentence),))
        return
    if query.rotation and key.rotation and query.rotation.moved != key.rotation.moved:
        moved: StepName = "key" if key.rotation.moved else "query"
        sentence = f"the components of the {moved} that are turned stand behind the others, and no others do"
        place = flow.maker(site.key_value if moved == "key" else site.query_value) or site.first_step
        yield Suspicion(moved, place, sentence, ())
        return
    if query.rotation and key.rotation and query.rotation.pairing_after != key.rotation.pairing_after:
        sentence = "the components of queries and keys stand in different orders after they are turned"
        place = flow.maker(site.key_value) or site.first_step
        yield Suspicion("rotary", place, sentence, (suspected("rope_interleaved_vs_half", LIKELY),))
        return
    if query.rotation and key.rotation and not _alike(query.rotation, key.rotation):
        both = "; ".join(describe_rotation(one.rotation) for one in (query, key))
        sentence = f"queries and keys are turned differently: {both}"
        same = query.rotation.pairing == key.rotation.pairing
        slug = "rope_theta_ignored" if same else "rope_interleaved_vs_half"
        yield Suspicion("rotary", flow.maker(site.key_value) or 0, sentence, (suspected(slug, 0.8),))
        return
    if reading.value.rotation is not None:
        sentence = "the values are turned by their positions too"
        place = flow.maker(site.value_value) or site.first_step
        yield Suspicion("value", place, sentence, (suspected("turned_heads=values_too", sentence=sentence),))
    if query.order != key.order and query.understood and key.understood and {*query.order} == {*key.order}:
        sentence = (
            f"queries are treated in the order {', '.join(query.order)}, keys in the order {', '.join(key.order)}"
        )
        yield Suspicion("query", flow.maker(site.query_value) or 0, sentence, ())
        return
    yield from _idle_rotations(flow, reading)
    yield from _mistaken_rotations(flow, reading)


def _both_backwards(reading: AttentionReading) -> bool:
    """Return whether queries and keys are turned by minus their angles alike, as in NanoChat.

    That is the usual rotation of pairs whose components stand the other way round, a convention like pairings.
    """
    rotations = reading.query.rotation, reading.key.rotation
    return all(one is not None and one.direction < 0 for one in rotations)


# One position alone is position 0.
_SEVERAL = 2


def _idle_rotations(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield that tables act on queries and keys and change nothing: all positions are turned as position 0."""
    site = reading.sublayer.sites[0]
    for operand, end in ((reading.query, site.query_value), (reading.key, site.key_value)):
        if not operand.understood or operand.order or operand.split is None or operand.heads.shape[2] < _SEVERAL:
            continue
        first = (reading.sublayer.query if operand is reading.query else reading.sublayer.key)[0].output
        for index in flow.between(first, end):
            step = flow.steps[index]
            if step.kind == Kind.OTHER and any(_may_turn(flow, step, one) for one in step.operands):
                sentence = "every position is turned as position 0: the rotation changes nothing"
                suspects = (suspected("rope_window_constant_position"),)
                yield Suspicion("rotary", index, sentence, suspects)
                return


def _may_turn(flow: Flow, step: Step, one: int) -> bool:
    """Return whether an operand is a table that could turn components against each other.

    One number for all components of a position turns nothing: it is a temperature, which may be 1 for short inputs.
    """
    table = flow.array(one)
    if not flow.is_fixed(one) or table.size < 2 or table.dtype.kind != "f":
        return False
    made = flow.shape(step.results[0])
    return not (len(made) > 1 and made[-1] > 1 and table.ndim > 0 and table.shape[-1] == 1)


def _alike(first: Turned, second: Turned) -> bool:
    return (first.pairing, first.width) == (second.pairing, second.width) and bool(
        np.allclose(first.frequencies, second.frequencies, rtol=1e-3, atol=1e-4)
    )


def _mistaken_rotations(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield the mistake in a rotation that is none of the known kinds, found by computing each."""
    site = reading.sublayer.sites[0]
    for operand, end in ((reading.query, site.query_value), (reading.key, site.key_value)):
        before = operand.before if operand.middle is None else operand.middle
        if operand.understood or before is None or before.shape != operand.heads.shape or before.shape[-1] % 2:
            continue
        found = named(_rotations(before, operand.heads))
        suspects = of_named(found) or _of_partners(before, operand.heads)
        if suspects or (mixes_pairs(before, operand.heads) and not turns_pairs(before, operand.heads)):
            sentence = "pairs are mixed by their positions, and not turned: their lengths change"
            if found:
                sentence = (
                    found[0].sentence or "the rotation of queries and keys by their positions is none that is right"
                )
            yield Suspicion("rotary", flow.maker(end) or site.first_step, sentence, suspects)
            return


def _of_partners(before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> tuple[Suspected, ...]:
    """Return the mistake that components are turned with others than those that are turned with them."""
    found = partners(before, after)
    if found is None or all(found[other] == own for own, other in enumerate(found)):
        return ()
    return (suspected("rope_cos_sin_pair_layout_mismatch", LIKELY),)


def _rotations(before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> Iterator[Call]:
    positions = np.arange(before.shape[2])
    turned = changed_width(before, after)
    for base in (10000.0, 500000.0, 1000000.0):
        for pairing in ("half", "interleaved"):
            arguments = {"x": before, "positions": positions, "base": base, "rotary_dim": turned}
            yield Call("rotary_embedding", arguments, after, 2.0**-24 / 16, {"rotary_pairing": pairing})
