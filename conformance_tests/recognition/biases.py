"""What is added to the logits: ALiBi, the buckets of T5, or a table of its own, and the mistakes in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.buckets import buckets_of
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.naming import Call, Named, named, names_of
from veriformer.conformance_tests.recognition.relative_positions import go_by_distance, is_of_query, is_scaled
from veriformer.conformance_tests.recognition.suspicion import Suspicion, of_named, suspected
from veriformer.conformance_tests.variants.family import NotDefined

# Slopes and tables are mostly made in float32.
_UNIT = 2.0**-24 / 16


@dataclass(frozen=True)
class Bias:
    """What a bias is: "alibi", "buckets", "table", or "of_query" where it is made of queries and a table.

    `by_distance` says whether the latter goes by the distance of the key, None where that is not known, and `scaled`
    whether it is multiplied as the logits are. `factor` is what ALiBi is multiplied by.
    """

    kind: str
    by_distance: bool | None = None
    scaled: bool = False
    factor: float = 1.0


def bias_of(flow: Flow, reading: AttentionReading) -> Bias | None:
    """Return what is added to the logits of an attention; None where nothing is."""
    setting = reading.setting
    if setting is None or setting.bias is None:
        return None
    visible = visible_with(setting, setting.bias.shape)
    heads, length, keys = setting.bias.shape[1:]
    if setting.bias_value is not None and is_of_query(flow, setting.bias_value):
        by_distance = go_by_distance(flow, setting.bias_value, visible[0, 0])
        return Bias("of_query", by_distance, is_scaled(flow, setting.bias_value, np.where(visible, setting.bias, 0.0)))
    own, alibi = (_relative(one, visible) for one in (setting.bias, _alibi(heads, length, keys, setting.bias.shape)))
    if agree(own, alibi, _UNIT):
        return Bias("alibi")
    factor = float((own * alibi).sum() / max(float((alibi * alibi).sum()), 1e-300))
    if factor > 0.0 and agree(own, factor * alibi, _UNIT):
        return Bias("alibi", factor=factor)
    return Bias("buckets" if _table(flow, setting) is not None else "table")


def visible_with(setting: Setting, shape: tuple[int, ...]) -> Array:
    """Return which keys a setting leaves visible, in the shape of the logits."""
    visible = np.ones(shape, dtype=bool)
    if setting.is_causal:
        visible &= reference.causal_mask(shape[-2], shape[-1])
    if setting.window is not None:
        left, right = setting.window
        before = np.arange(shape[-2])[:, None] - np.arange(shape[-1])
        furthest = shape[-2] if left is None else left
        visible &= (before <= furthest) & (before >= -(shape[-1] if right is None else right))
    return visible if setting.mask is None else visible & setting.mask


def _relative(bias: Array, visible: Array) -> Array:
    """Return a bias without what is the same for all visible keys of a query, which softmax does not see."""
    first = np.argmax(visible, axis=-1)[..., None]
    return np.asarray(np.where(visible, bias - np.take_along_axis(bias, first, -1), 0.0))


def _alibi(heads: int, length: int, keys: int, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(reference.alibi_bias(heads, length, keys), shape)


def bias_mistakes(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield the mistakes in what is added to the logits."""
    setting = reading.setting
    found = bias_of(flow, reading)
    if setting is None or setting.bias is None or found is None or (found.kind == "alibi" and found.factor == 1.0):
        return
    place = reading.sublayer.sites[0].first_step
    if np.isin(setting.bias, (0.0, 1.0)).all() and setting.bias_value is not None:
        sentence = "a mask is added to the logits as zeros and ones"
        yield Suspicion("mask", place, sentence, (suspected("bool_mask_added_as_numbers"),))
        return
    if found.kind == "of_query":
        if found.by_distance is False:
            sentence = "the products of queries and positions are added at other keys than those of their distance"
            yield Suspicion("logits", place, sentence, ())
        return
    if found.kind == "alibi":
        # By what it is multiplied is a choice, as Falcon scales it as the logits, unless it exchanges the slopes.
        named_one = next(_of_alibi(setting), None)
        if named_one is not None:
            yield Suspicion("logits", place, named_one.sentence, of_named((named_one,)))
        return
    path = ""
    if fills(setting.bias):
        sentence = "what is added to hidden logits is too small to hide them"
        yield Suspicion("mask", place, sentence, (suspected("finite_mask_beaten_by_logits"),))
        return
    if setting.bias_value is not None and flow.is_fixed(setting.bias_value) and _differs_by_sample(flow, setting.bias):
        sentence = "the same table is added to the logits of all samples, and it differs between them"
        yield Suspicion("logits", place, sentence, (suspected("mask_head_repeat_order"),))
        return
    if found.kind == "buckets":
        names = _of_buckets(flow, setting)
        sentence = "relative positions get the row of another bucket"
        path = path_of_table(flow, setting)
    else:
        names = tuple(_of_alibi(setting))
        sentence = "the bias by distance is none that is right"
    if names:
        yield Suspicion("logits", place, names[0].sentence or sentence, of_named(names), path)


def tells_later_keys_apart(flow: Flow, setting: Setting) -> bool:
    """Return whether a rule of T5 for both directions gives a bias, and none for earlier keys alone."""
    if setting.bias is None:
        return False
    found = buckets_of(flow, setting, visible_with(setting, setting.bias.shape)[0, 0])
    rule = None if found is None else found.rule
    return rule is not None and rule.is_of_t5 and rule.bidirectional and not rule.reversed


def fills(bias: Array) -> bool:
    """Return whether a bias is one number for all later keys and 0 for the others: a mask that does not hide."""
    causal = reference.causal_mask(bias.shape[-2], bias.shape[-1])
    later = bias[..., ~causal]
    return bool(later.size and not bias[..., causal].any() and later.flat[0] < 0 and (later == later.flat[0]).all())


def _differs_by_sample(flow: Flow, bias: Array) -> bool:
    """Return whether the samples of the pass get different numbers; windows of one sample may, by where they are."""
    batches = {flow.shape(one)[0] for one in flow.trace.inputs if flow.shape(one)}
    return len(bias) in batches and bool((bias != bias[:1]).any())


def path_of_table(flow: Flow, setting: Setting) -> str:
    """Return the module of the table that a bias takes its rows from."""
    names = () if setting.bias_value is None else flow.parameters_of(setting.bias_value)
    return names[0].rpartition(".")[0] if names else ""


def _of_alibi(setting: Setting) -> Iterator[Named]:
    """Yield the mistakes of ALiBi that give a bias, up to what softmax does not see."""
    family, bias = family_of("alibi_bias"), setting.bias
    if family is None or bias is None:
        return
    visible = visible_with(setting, bias.shape)
    heads, length, keys = bias.shape[1:]
    arguments: dict[str, Any] = {"num_heads": heads, "query_length": length, "key_length": keys}
    wanted = _relative(bias, visible)
    for change in family.standard.single_changes():
        try:
            table = family.standard.changed(change).compute(arguments)
        except (NotDefined, ArithmeticError, LookupError, ValueError):
            continue
        if table.shape == bias.shape[1:] and agree(
            wanted, _relative(np.broadcast_to(table, bias.shape), visible), _UNIT
        ):
            yield names_of(family.standard, (change,))


def _table(flow: Flow, setting: Setting) -> Array | None:
    """Return the table of parameters, (buckets, heads), that a bias takes its rows from."""
    if setting.bias is None or setting.bias_value is None:
        return None
    heads = setting.bias.shape[1]
    for name in flow.parameters_of(setting.bias_value):
        array = flow.array(flow.trace.parameters[name])
        if array.ndim == 2 and heads in array.shape:
            return array if array.shape[1] == heads else array.T
    return None


def _of_buckets(flow: Flow, setting: Setting) -> tuple[Named, ...]:
    """Return the mistakes in the buckets; none where they are right, or the rows are not those of the table."""
    table, bias = _table(flow, setting), setting.bias
    if table is None or bias is None:
        return ()
    rows = np.moveaxis(bias[0], 0, -1)
    distance = np.abs(rows[:, :, None, :] - table).max(axis=-1)
    buckets = distance.argmin(axis=-1)
    visible = visible_with(setting, bias.shape)[0, 0]
    found = buckets_of(flow, setting, visible)
    rule = None if found is None else found.rule
    if rule is not None and rule.is_of_t5 and not (rule.reversed or rule.offset):
        # Some distance is the largest that tells buckets apart.
        return ()
    if distance.min(axis=-1)[visible].max() > 1e-6 * max(1.0, float(np.abs(table).max())):
        return ()
    relative = np.arange(bias.shape[-1])[None, :] - np.arange(bias.shape[-2])[:, None]
    calls = []
    for bidirectional in (not setting.is_causal, setting.is_causal):
        for furthest in (128, 64, 32, 20, 16):
            arguments = {
                "relative_position": relative,
                "bidirectional": bidirectional,
                "num_buckets": len(table),
                "max_distance": furthest,
            }
            try:
                right = reference.relative_position_bucket(**arguments)  # type: ignore[arg-type]
            except ValueError:
                continue
            if np.array_equal(right[visible], buckets[visible]):
                return ()
            hidden = np.where(visible, buckets, right)
            calls.append(Call("relative_position_bucket", arguments, hidden.astype(float), _UNIT, {}, visible))
    return named(calls)
