"""What one part of a model shows about another: masks that are made and not used, padding, memories, positions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.attention_aspects import same_for_all_queries
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.embeddings import positions_of
from veriformer.conformance_tests.recognition.expressions import Embedded
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.pooling import pooled_ends
from veriformer.conformance_tests.recognition.suspicion import LIKELY, Suspicion, suspected

# Fewer positions than this make no triangle that is told from other tables.
_LEAST_LENGTH = 3
_DISCARDED = "sublayer_output_discarded"


def departures_of_consistency(model: ModelReading) -> Iterator[Departure]:
    """Yield where a part does not do what another part of the same model takes for granted."""
    yield from _of_unused_masks(model)
    yield from _of_padding(model)
    yield from _of_positions(model)


def _self_attentions(model: ModelReading) -> list[tuple[Layered, Setting]]:
    found = []
    for one in model.readings:
        setting = None if one.attention is None else one.attention.setting
        if one.kind == "self_attention" and setting is not None:
            found.append((one, setting))
    return found


def _place(one: Layered) -> int:
    steps = () if one.attention is None else one.attention.sublayer.sites[0].steps
    return min(steps[0] + 1, steps[-1]) if steps else one.first_step


def _of_unused_masks(model: ModelReading) -> Iterator[Departure]:
    """Yield that a table of causality is made and not used, while every query sees every key."""
    attentions = _self_attentions(model)
    if not attentions or any(one.kind == "cross_attention" for one in model.readings):
        return
    blind = [setting.mask is None or same_for_all_queries(setting.mask) for _, setting in attentions]
    if not all(blind) or any(setting.is_causal or setting.window for _, setting in attentions):
        return
    if _has_unused_triangle(model):
        for one, _ in attentions:
            sentence = "each query sees every key, though a mask that hides later ones is made and not used"
            item = Suspicion("mask", _place(one), sentence, (suspected("decoder_not_causal"),))
            yield departure(model, one.path, one.layer, one.kind, item)


def _has_unused_triangle(model: ModelReading) -> bool:
    behind: set[int] = set()
    for output in model.trace.outputs:
        behind.update(model.flow.ancestors(output))
    length = model.length()
    for index, value in enumerate(model.trace.values):
        # A buffer may serve other uses of the same class; what the pass itself makes was meant for this one.
        if index not in behind and value.origin == "step" and is_triangle(value.array, length):
            return True
    return False


def is_triangle(array: Array, length: int) -> bool:
    """Return whether a table shows each query its own and earlier keys alone, or hides exactly the later ones."""
    if array.ndim < 2 or min(array.shape[-2:]) < max(length, _LEAST_LENGTH) or array.shape[-1] != array.shape[-2]:
        return False
    table = array.reshape(-1, *array.shape[-2:])
    own = np.tri(array.shape[-1]).astype(bool)
    shown, hidden = table[:, own], table[:, ~own]
    alike = (shown == shown.flat[0]).all() and (hidden == hidden.flat[0]).all()
    return bool(len(table) == 1 and alike and shown.flat[0] != hidden.flat[0])


def _of_padding(model: ModelReading) -> Iterator[Departure]:
    """Yield that padding is hidden from the attentions and counted in the mean over positions, or the other way."""
    attentions = _self_attentions(model)
    ends = list(pooled_ends(model))
    pooled = ends[-1].vectors if ends else model.ends[-1].input if model.ends else -1
    if not attentions or pooled < 0 or any(one.kind == "cross_attention" for one in model.readings):
        return
    masks = [setting.mask for _, setting in attentions]
    if all(mask is not None and same_for_all_queries(mask) for mask in masks):
        hidden = masks[0]
        if hidden is not None and not hidden.all() and _is_mean(model, pooled, None):
            place = model.flow.maker(pooled) or len(model.flow.steps) - 1
            sentence = "the mean is taken over all positions, though padding is hidden from the attentions"
            item = Suspicion("unembedding", place, sentence, (suspected("mean_pooling_includes_padding"),))
            yield departure(model, model.flow.steps[place].module, None, "unembedding", item)
    elif all(setting.pattern == "every key" for _, setting in attentions) and _leaves_padding_out(model, pooled):
        for one, _ in attentions:
            sentence = "padding is seen here, though the mean over positions leaves it out"
            item = Suspicion("mask", _place(one), sentence, (suspected("padding_mask_ignored"),))
            yield departure(model, one.path, one.layer, one.kind, item)


def _leaves_padding_out(model: ModelReading, pooled: int) -> bool:
    """Return whether a value is the mean over the positions that a table of the inputs keeps."""
    made = (one for one in model.flow.ancestors(pooled) if model.flow.depends_on_input(one))
    tables = [array for one in made if (array := model.flow.array(one)).dtype.kind == "b" and array.ndim == 2]
    # One position of each sample is chosen, as that of the last token is, and says nothing of padding.
    kept = (keep for table in tables for keep in (table, ~table) if not keep.all() and keep.sum(axis=1).max() > 1)
    return any(_is_mean(model, pooled, keep) for keep in kept)


def _is_mean(model: ModelReading, pooled: int, keep: Array | None) -> bool:
    """Return whether a value (B, E) is the mean of an earlier one (B, L, E) over the positions that are kept."""
    mean = model.flow.array(pooled)
    if mean.ndim != 2:
        return False
    for one in model.flow.ancestors(pooled, stop=lambda value: value in model.maps.by_output):
        array = model.flow.array(one)
        if array.ndim != 3 or array.dtype.kind != "f" or (array.shape[0], array.shape[2]) != mean.shape:
            continue
        weights = np.ones(array.shape[:2]) if keep is None else keep.astype(float)
        if weights.shape != array.shape[:2] or not weights.any(axis=1).all():
            continue
        if agree(mean, (array * weights[..., None]).sum(axis=1) / weights.sum(axis=1)[:, None]):
            return bool(array.shape[1] > 1)
    return False


def _counts_positions(model: ModelReading, one: Embedded) -> bool:
    """Return whether the rows of a table are those of positions, counted from behind the padding as RoBERTa does."""
    rows = model.flow.array(one.lookup.rows)
    return rows.ndim > 1 and rows.shape[-1] > 1 and bool((np.diff(rows, axis=-1) == 1).all(axis=-1).any())


def _of_positions(model: ModelReading) -> Iterator[Departure]:
    """Yield a stream of tokens without positions beside another one of the same model that has them."""
    known = {}
    for stack, embedding in model.embeddings:
        positions = positions_of(model.flow, embedding, model.sublayers.width, model.batch)
        known[stack] = (embedding, positions)
    with_table = [found for embedding, found in known.values() if found is not None and embedding.tokens]
    for stack, (embedding, positions) in known.items():
        tokens = [one for one in embedding.tokens if not model.flow.is_fixed(one.lookup.rows)]
        if positions is not None or not with_table or not tokens or _has_relative(model, stack):
            continue
        if len(tokens) > 1 and any(_counts_positions(model, one) for one in tokens):
            continue
        sentence = "no positions are added to these tokens, though they are to those of the other stream"
        place = model.flow.maker(embedding.value) or tokens[0].lookup.step
        path = with_table[0].path or model.path_of_embedding(embedding)
        yield departure(model, path, None, "token_embedding", Suspicion("positions", place, sentence, ()))


def _has_relative(model: ModelReading, stack: int) -> bool:
    """Return whether the attentions of a stream see positions by themselves, or were not understood."""
    for one in model.readings:
        if one.stack != stack or one.attention is None or one.kind != "self_attention":
            continue
        setting, query = one.attention.setting, one.attention.query
        if setting is None or setting.bias is not None or query.rotation is not None or not query.understood:
            return True
    return False


def departures_of_memories(model: ModelReading) -> Iterator[Departure]:
    """Yield attentions that should read what an encoder gives, where nothing reads it.

    What follows from that, the sublayers of the encoder that nothing uses, is no departure of its own: it is taken off.
    """
    idle = _idle_stacks(model)
    readers = [one for one in model.readings if one.stack not in idle and _should_read_memory(model, one)]
    if not idle or not readers:
        return
    for one in model.readings:
        if one.stack in idle:
            one.idle = True
            one.suspicions = [item for item in one.suspicions if not _is_discarded(item)]
    for one in readers:
        own = one.kind == "self_attention"
        slug = "cross_attn_uses_decoder_states"
        words = "the decoder's own stream" if own else "something else than what the encoder gives"
        suspects = (suspected(slug),) if own else (suspected(slug, LIKELY / 2),)
        item = Suspicion("cross_attention", one.first_step, f"the attention to the memory reads {words}", suspects)
        one.suspicions = [item]
        yield departure(model, one.path, one.layer, one.kind, item)


def _is_discarded(item: Suspicion) -> bool:
    return any(suspect.name == _DISCARDED for suspect in item.suspects)


def _idle_stacks(model: ModelReading) -> set[int]:
    """Return the streams of which no output depends on any sublayer, in a model that has others."""
    stacks = {one.stack for one in model.readings}
    used = {one.stack for one in model.readings if not any(map(_is_discarded, one.suspicions))}
    return stacks - used if used else set()


def _should_read_memory(model: ModelReading, one: Layered) -> bool:
    """Return whether a sublayer attends to a memory, or is the second of its layer to attend to its own stream."""
    if one.attention is None or one.kind == "cross_attention":
        return one.kind == "cross_attention"
    same = [other for other in model.readings if (other.stack, other.layer) == (one.stack, one.layer)]
    attentions = [other for other in same if other.attention is not None]
    return len(attentions) > 1 and attentions[0] is not one
