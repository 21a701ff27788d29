"""The mistakes of one attention that can be told from its own numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.attention_aspects import (
    mask_mistake,
    same_for_all_queries,
    scale_mistake,
)
from veriformer.conformance_tests.recognition.attention_words import only_seen_token, token_of_blind_queries
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.biases import bias_mistakes
from veriformer.conformance_tests.recognition.core import Heads, Setting, masked_causally
from veriformer.conformance_tests.recognition.findings import StepName, Suspected
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.naming import Call, Named, named
from veriformer.conformance_tests.recognition.projection_mistakes import place_of_operand, projection_mistakes
from veriformer.conformance_tests.recognition.rotation_mistakes import rotation_mistakes
from veriformer.conformance_tests.recognition.sites import Site
from veriformer.conformance_tests.recognition.starting_points import starting_points
from veriformer.conformance_tests.recognition.suspicion import Suspicion, of_named, suspected
from veriformer.conformance_tests.recognition.weights import weights_mistakes

# A configuration that has such a name means it: Granite's attention_multiplier, Gemma's query_pre_attn_scalar.
_NAMES_OF_SCALES = re.compile(r"^scaling$|attn_scal|attention_(multiplier|scal)|softmax_scale|qk_scale")
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


# What a query sees by each wrong table of `mask_mistake`.
_WRONG_TABLES = {
    "causal_diagonal_off_by_one": "each query sees the key after its own position too",
    "causal_mask_excludes_self": "no query sees the key at its own position",
    "causal_mask_transposed": "each query sees the later keys, and none of the earlier ones",
    "mask_polarity_inverted": "each query sees just the keys that should be hidden from it",
}

# Logits are seldom so low: it is taken for a number that hides, and decides on a line of code alone.
_LOWEST_LOGIT = -1e3


def attention_mistakes(
    flow: Flow, reading: AttentionReading, others: Sequence[Setting], *, unscaled: bool, d_model: int
) -> Iterator[Suspicion]:
    """Yield the mistakes of an attention; `others` are the settings that hold elsewhere in the model.

    `unscaled` says that logits may go without a scale in such a model; `d_model` is the width of the stream.
    """
    yield from projection_mistakes(flow, reading)
    yield from rotation_mistakes(flow, reading)
    yield from _of_core(flow, reading, others, unscaled=unscaled, d_model=d_model)
    yield from bias_mistakes(flow, reading)
    if reading.merge is not None and not reading.merge.rows_kept and reading.setting is not None:
        yield Suspicion(
            "heads_output",
            reading.sublayer.exit.step,
            "the heads' outputs are put side by side so that the numbers of several positions are mixed",
            (suspected("heads_merge_without_transpose"),),
        )
    if reading.merge is not None and reading.merge.by_component and _are_in_blocks(flow, reading):
        yield Suspicion(
            "heads_output",
            reading.sublayer.exit.step,
            "the heads' outputs are put together by components first, and by heads then, though the projections are "
            "cut into heads one after the other",
            (),
        )


def _are_in_blocks(flow: Flow, reading: AttentionReading) -> bool:
    """Return whether each head of query, key and value has columns of its own that stand together.

    A matrix (H, D, E) has no order of the two axes that are summed over.
    """
    splits = (one.split for one in (reading.query, reading.key, reading.value))
    matrices = [flow.array(flow.trace.parameters[name]) for name in reading.sublayer.exit.names]
    of_rows = bool(matrices) and all(one.ndim == 2 for one in matrices)
    return of_rows and all(one is not None and one.layout in ("blocks", "blocks_with_gaps") for one in splits)


def _of_core(
    flow: Flow, reading: AttentionReading, others: Sequence[Setting], *, unscaled: bool, d_model: int
) -> Iterator[Suspicion]:
    setting = reading.setting
    site = reading.sublayer.sites[0]
    if setting is None:
        if not _can_be_named(reading):
            return
        by_weights = list(weights_mistakes(flow, reading))
        if by_weights:
            yield from by_weights
            return
        found = named(_calls(reading.heads, starting_points(flow, reading, others)))
        if found:
            step = _step_of(found[0])
            yield Suspicion(step, _place(flow, reading, step), _sentence(found[0]), of_named(found))
        else:
            yield from _of_finite_fills(flow, reading, others)
        return
    yield from _of_scale(flow, reading, unscaled=unscaled, d_model=d_model)
    token = only_seen_token(flow, setting)
    if token is not None:
        sentence = f"each query sees the keys of token {token} alone, and those of all others are hidden from it"
        yield Suspicion("mask", place_of_mask(flow, site), sentence, (suspected("mask_polarity_inverted"),))
        return
    token = token_of_blind_queries(flow, setting)
    if token is not None:
        sentence = (
            f"the queries of token {token} see no key, and the keys of token {token} are hidden from no other query"
        )
        yield Suspicion("mask", place_of_mask(flow, site), sentence, ())
        return
    if setting.pattern == "masked" and setting.mask is not None and not same_for_all_queries(setting.mask):
        plain = replace(setting, mask=None)
        of_others = [replace(plain, window=one.window, is_causal=one.is_causal) for one in others]
        starts = [replace(plain, is_causal=True), *of_others, masked_causally(reading.heads)]
        slug = mask_mistake(setting.mask)
        if slug:
            yield Suspicion("mask", place_of_mask(flow, site), _WRONG_TABLES[slug], (suspected(slug),))
            return
        found = named(_calls(reading.heads, starts))
        if found:
            yield Suspicion(_step_of(found[0]), place_of_mask(flow, site), _sentence(found[0]), of_named(found))


def _of_finite_fills(flow: Flow, reading: AttentionReading, others: Sequence[Setting]) -> Iterator[Suspicion]:
    """Yield that hidden logits are replaced by a number that does not hide them."""
    site, weights = reading.sublayer.sites[0], reading.weights
    if weights is None or not np.isfinite(weights).all() or not (weights > 0).all():
        return
    heads = reading.heads
    repeated = np.repeat(heads.key, heads.query.shape[1] // heads.key.shape[1], axis=1)
    causal = np.tril(np.ones(weights.shape[-2:], dtype=bool))
    for scale in dict.fromkeys((heads.query.shape[-1] ** -0.5, *(one.scale for one in others if one.scale), 1.0)):
        logits = scale * (heads.query @ repeated.swapaxes(-1, -2))
        added = np.log(weights) - logits
        # Under a causal mask the first key is always visible; of keys that are padding most queries see more.
        for shift, hidden in ((added[..., :1], ~causal), (np.median(added, axis=-1, keepdims=True), None)):
            fill = _fill(np.log(weights) - shift, logits, hidden)
            if fill is not None:
                sentence = f"hidden logits are replaced by {fill:.4g}, which other logits do not dwarf"
                suspects = (suspected("finite_mask_beaten_by_logits"),)
                yield Suspicion("mask", place_of_mask(flow, site), sentence, suspects)
                return


def _fill(rest: Array, logits: Array, hidden: Array | None) -> float | None:
    """Return the number that hidden logits were replaced by, those that differ where none are said to be; else None."""
    near = 1e-6 * max(1.0, float(np.abs(logits).max()))
    other = np.abs(rest - logits) > near
    where = np.broadcast_to(hidden, rest.shape) if hidden is not None else other
    fills = rest[where]
    # The same keys are hidden from all heads.
    if not fills.size or (other & ~where).any() or (hidden is None and (where != where[:, :1]).any()):
        return None
    return float(np.median(fills)) if np.ptp(fills) <= 1e-6 * max(1.0, float(np.abs(fills).max())) else None


def _can_be_named(reading: AttentionReading) -> bool:
    count = reading.head_count
    return all(one.groups.repeated_in_order(count) for one in (reading.key, reading.value)) and (
        reading.key.heads.shape[1] == reading.value.heads.shape[1]
    )


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
    if step in ("query", "key", "value"):
        return place_of_operand(flow, reading, step)
    if step == "logits":
        return site.steps[0]
    if step == "heads_output":
        return site.steps[-1]
    return place_of_mask(flow, site) if step == "mask" else site.behind_first_product


def place_of_mask(flow: Flow, site: Site) -> int:
    """Return the step of an attention in which numbers that hide first stand, else the one behind the product."""
    first = site.behind_first_product
    for index in range(first, site.steps[-1]):
        step = flow.steps[index]
        if any(_hides(flow, one) for one in step.results) and not any(_hides(flow, one) for one in step.operands):
            return index
    return first


def _hides(flow: Flow, value: int) -> bool:
    array = flow.array(value)
    return array.dtype.kind == "f" and bool((array < _LOWEST_LOGIT).any())


def _sentence(found: Named) -> str:
    return found.sentence or f"what it gives is explained by {found.decision} = {found.option}"


def _states_scale(flow: Flow, scale: float) -> bool:
    """Return whether the configuration states a scale of the logits, or the width that it is 1/√ of."""
    stated = (
        value
        for name, value in flow.trace.configuration.items()
        if _NAMES_OF_SCALES.search(name.rpartition(".")[2]) and isinstance(value, int | float) and value > 0
    )
    return any(min(abs(value - scale), abs(value**-0.5 - scale)) <= 1e-6 * scale for value in stated)


def _of_scale(flow: Flow, reading: AttentionReading, *, unscaled: bool, d_model: int) -> Iterator[Suspicion]:
    """Yield the mistake that a scale is, where it is one that people make and nothing takes its place."""
    setting = reading.setting
    if setting is None or setting.scale is None or not (reading.query.understood and reading.key.understood):
        # What happens to queries and keys on a way that is not known may hold the scale.
        return
    normed = reading.query.norm is not None or reading.key.norm is not None
    samples, heads, queries, width = reading.query.heads.shape
    lengths = (samples, queries, reading.key.heads.shape[2])
    name = scale_mistake(setting.scale, heads, width, d_model, lengths)
    # Norms of queries and keys take the place of the scale.
    if name and not (name == "scale_missing" and (unscaled or normed)) and not _states_scale(flow, setting.scale):
        sentence = f"the logits are multiplied by {setting.scale:.4g}, where 1/√D = {width**-0.5:.4g}"
        suspects: tuple[Suspected, ...] = (suspected(name, sentence=sentence),)
        yield Suspicion("logits", reading.sublayer.sites[0].first_step, sentence, suspects)
