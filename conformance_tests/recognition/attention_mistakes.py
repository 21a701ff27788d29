"""The mistakes of one attention that can be told from its own numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.recognition.attention_aspects import (
    describe_rotation,
    mask_mistake,
    same_for_all_queries,
    scale_mistake,
)
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.biases import bias_mistakes
from veriformer.conformance_tests.recognition.core import Heads, Setting, masked_causally
from veriformer.conformance_tests.recognition.findings import StepName, Suspected
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.naming import Call, Named, named
from veriformer.conformance_tests.recognition.operands import Operand
from veriformer.conformance_tests.recognition.suspicion import Suspicion, of_named, suspected
from veriformer.conformance_tests.recognition.turning import Turned, changed_width, mixes_pairs

# The step of the specification that a decision of the attention's family belongs to.
_STEPS: tuple[tuple[str, StepName], ...] = (
    ("scale", "logits"),
    ("similarity", "logits"),
    ("softcap", "logits"),
    ("bias", "logits"),
    ("order_of_steps", "logits"),
    ("products", "logits"),
    ("operands", "query"),
    ("grouping", "key"),
    ("query_heads", "query"),
    ("mask", "mask"),
    ("causal", "mask"),
    ("window", "mask"),
    ("softmax", "weights"),
    ("sinks", "weights"),
    ("output", "heads_output"),
)


def attention_mistakes(
    flow: Flow, reading: AttentionReading, others: Sequence[Setting], *, relative: bool, d_model: int
) -> Iterator[Suspicion]:
    """Yield the mistakes of an attention; `others` are the settings that hold elsewhere in the model.

    `relative` says that some attention of the model adds relative positions to its logits; `d_model` is the width of
    the stream.
    """
    yield from _of_splits(flow, reading)
    yield from _of_shared_columns(flow, reading)
    yield from _of_groups(flow, reading)
    yield from _of_rotations(flow, reading)
    yield from _of_core(flow, reading, others, relative=relative, d_model=d_model)
    yield from bias_mistakes(flow, reading)
    if reading.merge is not None and not reading.merge.rows_kept:
        yield Suspicion(
            "heads_output",
            reading.sublayer.exit.step,
            "the heads' outputs are put side by side so that the numbers of several positions are mixed",
            (suspected("heads_merge_without_transpose"),),
        )


def _of_splits(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    operands: tuple[tuple[StepName, Operand], ...] = (
        ("query", reading.query),
        ("key", reading.key),
        ("value", reading.value),
    )
    for role, operand in operands:
        if operand.split is None:
            continue
        place = flow.maker(operand.split.value) or reading.sublayer.first_step
        if operand.split.columns is None:
            sentence = f"the {role} is cut into heads so that a head holds numbers of several positions"
            yield Suspicion(role, place, sentence, (suspected("split=without_transpose", sentence=sentence),))
            return
        if operand.split.layout == "component_major":
            sentence = f"the columns of the {role} are read by components first, and by heads then"
            yield Suspicion(role, place, sentence, (suspected("fused_qkv_layout"),))
            return


def _of_shared_columns(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield that two roles are read from the same columns of one projection."""
    columns = {}
    for role in ("query", "key", "value"):
        split = getattr(reading, role).split
        maps = getattr(reading.sublayer, role)
        if split is None or split.columns is None or len(maps) > 1:
            return
        matrix = flow.array(maps[0].weight)
        # One parameter may hold several matrices: these are the same where their numbers are.
        columns[role] = (maps[0].names, matrix.shape, float(matrix.sum()), tuple(split.columns.ravel()))
    if columns["value"] == columns["key"]:
        sentence = "keys and values are the same columns of one projection"
        yield Suspicion("value", _place(flow, reading, "value"), sentence, (suspected("value_uses_key_projection"),))
    elif columns["query"] == columns["key"] or columns["query"] == columns["value"]:
        role = "key" if columns["query"] == columns["key"] else "value"
        sentence = f"the {role} is made of the columns of the query"
        step: StepName = "key" if role == "key" else "value"
        suspects = (suspected("projections=one_for_all", sentence=sentence),)
        yield Suspicion(step, _place(flow, reading, step), sentence, suspects)


def _of_groups(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    for role in ("key", "value"):
        operand: Operand = getattr(reading, role)
        groups = operand.groups.group_of_head
        if len(groups) == reading.head_count and not operand.groups.repeated_in_order(reading.head_count):
            end = getattr(reading.sublayer.sites[0], f"{role}_value")
            read = ", ".join(map(str, groups))
            sentence = f"the query heads read the {role} heads {read}; they should read each head so often in turn"
            yield Suspicion(
                "key" if role == "key" else "value",
                flow.maker(end) or 0,
                sentence,
                (suspected("gqa_head_index_wrong"),),
            )
            return


def _of_rotations(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    site = reading.sublayer.sites[0]
    query, key = reading.query, reading.key
    for operand, end in ((query, site.query_value), (key, site.key_value)):
        place = flow.maker(end) or site.first_step
        rotation = operand.rotation
        if rotation is not None and abs(rotation.start) > 1e-3:
            sentence = f"the first position is turned as position {rotation.start:g}, not as position 0"
            yield Suspicion("rotary", place, sentence, (suspected("rope_positions_from_one"),))
            return
        if rotation is not None and rotation.direction < 0:
            sentence = "pairs are turned backwards, by minus their angle"
            yield Suspicion("rotary", place, sentence, (suspected("rope_sign_flipped"),))
            return
    if query.understood and key.understood and (query.rotation is None) != (key.rotation is None):
        turned, not_turned = ("query", "key") if key.rotation is None else ("key", "query")
        place = flow.maker(site.key_value if key.rotation is None else site.query_value) or site.first_step
        sentence = f"the {turned} is turned by its position and the {not_turned} is not"
        name = "turned_heads=queries_only" if turned == "query" else "turned_heads=keys_only"
        yield Suspicion("rotary", place, sentence, (suspected(name, sentence=sentence),))
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


def _idle_rotations(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield that tables act on queries and keys and change nothing: all positions are turned as position 0."""
    site = reading.sublayer.sites[0]
    for operand, end in ((reading.query, site.query_value), (reading.key, site.key_value)):
        if not operand.understood or operand.order or operand.split is None:
            continue
        first = (reading.sublayer.query if operand is reading.query else reading.sublayer.key)[0].output
        for index in flow.between(first, end):
            step = flow.steps[index]
            tables = [one for one in step.operands if flow.is_fixed(one) and flow.array(one).size > 1]
            if step.kind == Kind.OTHER and any(flow.array(one).dtype.kind == "f" for one in tables):
                sentence = "every position is turned as position 0: the rotation changes nothing"
                suspects = (suspected("rope_window_constant_position"),)
                yield Suspicion("rotary", index, sentence, suspects)
                return


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
        if found or mixes_pairs(before, operand.heads):
            sentence = "pairs are mixed by their positions, and not turned: their lengths change"
            if found:
                sentence = (
                    found[0].sentence or "the rotation of queries and keys by their positions is none that is right"
                )
            yield Suspicion("rotary", flow.maker(end) or site.first_step, sentence, of_named(found))
            return


def _rotations(before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> Iterator[Call]:
    positions = np.arange(before.shape[2])
    turned = changed_width(before, after)
    for base in (10000.0, 500000.0, 1000000.0):
        for pairing in ("half", "interleaved"):
            arguments = {"x": before, "positions": positions, "base": base, "rotary_dim": turned}
            yield Call("rotary_embedding", arguments, after, 2.0**-24 / 16, {"rotary_pairing": pairing})


def _of_core(
    flow: Flow, reading: AttentionReading, others: Sequence[Setting], *, relative: bool, d_model: int
) -> Iterator[Suspicion]:
    setting = reading.setting
    site = reading.sublayer.sites[0]
    usual = _starting_points(reading, others)
    if setting is None:
        if not _can_be_named(reading):
            return
        found = named(_calls(reading.heads, usual))
        if found:
            step = _step_of(found[0])
            yield Suspicion(step, _place(flow, reading, step), _sentence(found[0]), of_named(found))
        else:
            yield from _of_finite_fills(reading, others)
        return
    yield from _of_scale(reading, relative=relative, d_model=d_model)
    if setting.pattern == "masked" and setting.mask is not None and not same_for_all_queries(setting.mask):
        plain = replace(setting, mask=None)
        of_others = [replace(plain, window=one.window, is_causal=one.is_causal) for one in others]
        starts = [replace(plain, is_causal=True), *of_others, masked_causally(reading.heads)]
        slug = mask_mistake(setting.mask)
        if slug:
            place = min(site.steps[0] + 1, site.steps[-1])
            sentence = "which keys a query sees is wrong by its table"
            yield Suspicion("mask", place, sentence, (suspected(slug),))
            return
        found = named(_calls(reading.heads, starts))
        if found:
            yield Suspicion(
                _step_of(found[0]), min(site.steps[0] + 1, site.steps[-1]), _sentence(found[0]), of_named(found)
            )


def _of_finite_fills(reading: AttentionReading, others: Sequence[Setting]) -> Iterator[Suspicion]:
    """Yield that hidden logits are replaced by a number that does not hide them."""
    site, weights = reading.sublayer.sites[0], reading.weights
    if weights is None or not np.isfinite(weights).all() or not (weights > 0).all():
        return
    heads = reading.heads
    repeated = np.repeat(heads.key, heads.query.shape[1] // heads.key.shape[1], axis=1)
    causal = np.tril(np.ones(weights.shape[-2:], dtype=bool))
    for scale in dict.fromkeys((heads.query.shape[-1] ** -0.5, *(one.scale for one in others if one.scale), 1.0)):
        logits = scale * (heads.query @ repeated.swapaxes(-1, -2))
        # The first key is always visible, so that it tells what was added to each row.
        shift = np.log(weights[..., :1]) - logits[..., :1]
        rest = np.log(weights) - shift
        fills = rest[..., ~causal]
        close = np.abs(rest - logits)[..., causal].max() <= 1e-6 * max(1.0, float(np.abs(logits).max()))
        if fills.size and close and np.ptp(fills) <= 1e-6 * max(1.0, float(np.abs(fills).max())):
            sentence = f"hidden logits are replaced by {float(np.median(fills)):.4g}, which other logits do not dwarf"
            place = min(site.steps[0] + 1, site.steps[-1])
            yield Suspicion("mask", place, sentence, (suspected("finite_mask_beaten_by_logits"),))
            return


def _can_be_named(reading: AttentionReading) -> bool:
    count = reading.head_count
    return all(one.groups.repeated_in_order(count) for one in (reading.key, reading.value)) and (
        reading.key.heads.shape[1] == reading.value.heads.shape[1]
    )


def _starting_points(reading: AttentionReading, others: Sequence[Setting]) -> list[Setting]:
    return [*others, Setting(is_causal=True), Setting(), masked_causally(reading.heads)]


def _calls(heads: Heads, settings: Sequence[Setting]) -> Iterator[Call]:
    seen: list[dict[str, Any]] = []
    for setting in settings:
        keywords = setting.keywords()
        if any(_equal(keywords, one) for one in seen):
            continue
        seen.append(keywords)
        arguments = {"query": heads.query, "key": heads.key, "value": heads.value, **keywords}
        yield Call("grouped_query_attention", arguments, heads.output, heads.unit, setting.conventions)


def _equal(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def _step_of(found: Named) -> StepName:
    if found.name == "mask_multiplied_after_softmax_no_renorm":
        return "weights"
    return next((step for start, step in _STEPS if found.decision.startswith(start)), "weights")


def _place(flow: Flow, reading: AttentionReading, step: StepName) -> int:
    site = reading.sublayer.sites[0]
    ends = {"query": site.query_value, "key": site.key_value, "value": site.value_value}
    if step in ends:
        return flow.maker(ends[step]) or site.first_step
    if step == "logits":
        return site.steps[0]
    return site.steps[-1] if step == "heads_output" else min(site.steps[0] + 1, site.steps[-1])


def _sentence(found: Named) -> str:
    return found.sentence or f"what it gives is explained by {found.decision} = {found.option}"


def _of_scale(reading: AttentionReading, *, relative: bool, d_model: int) -> Iterator[Suspicion]:
    """Yield the mistake that a scale is, where it is one that people make and nothing takes its place."""
    setting = reading.setting
    if setting is None or setting.scale is None:
        return
    normed = reading.query.norm is not None or reading.key.norm is not None
    heads, _, width = reading.query.heads.shape[1:]
    name = scale_mistake(setting.scale, heads, width, d_model)
    # T5 puts the scale into its initial weights; norms of queries and keys take its place.
    if name and not (name == "scale_missing" and (relative or normed)):
        sentence = f"the logits are multiplied by {setting.scale:.4g}, where 1/√D = {width**-0.5:.4g}"
        suspects: tuple[Suspected, ...] = (suspected(name, sentence=sentence),)
        yield Suspicion("logits", reading.sublayer.sites[0].first_step, sentence, suspects)
