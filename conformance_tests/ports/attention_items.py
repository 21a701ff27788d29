"""What is compared of an attention: its projections by head, what is done to them, its keys, its output."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.items import Choice, Cut, Item, Weight
from veriformer.conformance_tests.ports.masks import SeenPairs, mask_otherwise
from veriformer.conformance_tests.ports.stream_items import as_stored, choices, cut
from veriformer.conformance_tests.recognition.attention_aspects import attention_aspects
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.biases import visible_with
from veriformer.conformance_tests.recognition.buckets import BucketRule, buckets_of
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.heads import Split
from veriformer.conformance_tests.recognition.maps import LinearMap, canonical_factors, factors
from veriformer.conformance_tests.recognition.networks import matrix_of
from veriformer.conformance_tests.recognition.operands import Operand, read_operand
from veriformer.conformance_tests.recognition.tracking import places
from veriformer.conformance_tests.recognition.turning import Pairing, Turned

_ROLES: tuple[StepName, ...] = ("query", "key", "value")
_OF_ROLE = ("understood", "moved", "rotation", "base", "norm", "order")
_OF_CORE = ("head width", "scale", "softcap", "visible keys", "window", "bias", "sinks")


def attention_items(flow: Flow, reading: AttentionReading, path: str) -> Iterator[Item]:
    """Yield what is compared of an attention, in the order in which it happens."""
    found = {one.key: one for one in choices(attention_aspects(flow, reading), path)}
    for role in _ROLES:
        yield from _projected(flow, reading, role, path)
    yield from (found[f"{role} {name}"] for role in _ROLES for name in _OF_ROLE if f"{role} {name}" in found)
    for role in _ROLES:
        yield from _norm_of_heads(flow, reading, role, path)
        yield _heads(flow, reading, role, path)
    yield from (found[name] for name in _OF_CORE if name in found)
    yield from _masked(flow, reading, path)
    site = reading.sublayer.sites[0]
    weights = reading.weights if reading.weights is not None else _weights(reading)
    if weights is not None:
        yield Cut("weights", "weights", site.steps[-1], path, weights, reading.heads.unit, 1)
    yield Cut("heads output", "heads_output", site.steps[-1], path, reading.heads.output, reading.heads.unit, 1)
    merge = found.get("merge")
    if merge is not None:
        # Another order that the rows of the output matrix have too is none.
        kept = reading.merge is not None and reading.merge.rows_kept
        words = merge.words if kept else "the heads' outputs of several positions are mixed"
        yield replace(merge, value=kept, words=words)
    yield from _output(flow, reading, path)


def _projected(flow: Flow, reading: AttentionReading, role: StepName, path: str) -> Iterator[Weight]:
    """Yield a projection as (E, heads, components) and its bias (heads, components)."""
    maps: tuple[LinearMap, ...] = getattr(reading.sublayer, role)
    operand: Operand = getattr(reading, role)
    names = tuple(dict.fromkeys(name for one in maps for name in one.names))
    matrices, biases = [], []
    for one, split in _splits(flow, reading, role, maps, operand):
        matrix = matrix_of(flow, one)
        columns = None if split is None else split.columns
        if matrix is None or columns is None or columns.max() >= matrix.shape[1]:
            # Its heads cannot be told; the matrix is compared as it is.
            yield Weight(f"{role} weight", role, maps[0].step, path, matrix, names, stored=matrix)
            return
        matrices.append(matrix[:, columns])
        biases.append(_bias(flow, one, columns))
    turn = _order(
        operand.rotation, matrices[0].shape[-1], None if operand.rotation is None else operand.rotation.pairing
    )
    whole = np.concatenate(matrices, axis=1)[..., turn]
    stored = matrix_of(flow, maps[0]) if len(maps) == 1 else None
    yield Weight(f"{role} weight", role, maps[0].step, path, whole, names, None, 1, 2, stored)
    bias = None if any(one is None for one in biases) else np.concatenate([one for one in biases if one is not None])
    of_bias = [name for one in maps if one.bias is not None for name in flow.parameters_of(one.bias)]
    bias = None if bias is None else bias[..., turn]
    yield Weight(f"{role} bias", role, maps[0].step, path, bias, tuple(dict.fromkeys(of_bias)), 0.0, 0, 1)


def _splits(
    flow: Flow, reading: AttentionReading, role: StepName, maps: tuple[LinearMap, ...], operand: Operand
) -> Iterator[tuple[LinearMap, Split | None]]:
    """Yield the maps of a projection, each with how its heads were cut out."""
    sites = reading.sublayer.sites
    if len(maps) == 1:
        yield maps[0], operand.split
        return
    for one, site in zip(maps, sites, strict=False):
        yield one, read_operand(flow, one, getattr(site, role), getattr(site, f"{role}_value")).split


def _bias(flow: Flow, one: LinearMap, columns: Array) -> Array | None:
    if one.bias is None:
        return None
    bias = flow.array(one.bias).ravel()
    return bias[columns] if bias.size > columns.max() else None


def _order(rotation: Turned | None, width: int, pairing: Pairing | None) -> Array:
    """Return the components so that those that are turned together stand half a width apart, as in the half pairing."""
    order = np.arange(width)
    if rotation is None or pairing == "half":
        return order
    start = width - rotation.width if rotation.at_end else 0
    pairs = order[start : start + rotation.width]
    order[start : start + rotation.width] = np.concatenate([pairs[0::2], pairs[1::2]])
    return order


def _norm_of_heads(flow: Flow, reading: AttentionReading, role: StepName, path: str) -> Iterator[Item]:
    """Yield eps, gain and shift of the norm of queries or keys, components in the order of their projection."""
    operand: Operand = getattr(reading, role)
    norm, width = operand.norm, operand.heads.shape[-1]
    if norm is None:
        return
    at = flow.maker(getattr(reading.sublayer.sites[0], f"{role}_value")) or reading.sublayer.first_step
    if norm.eps is not None:
        eps = float(f"{norm.eps:.3g}")
        words = f"eps of its norm is {eps:g}"
        yield Choice(f"{role} norm: eps", role, at, path, eps, words, "norm_eps_value_mismatch")
    # A norm before the rotation has the components of the projection.
    turn = _order(operand.rotation, width, None if operand.rotation is None else operand.rotation.pairing)
    for name, value, neutral in (("gain", norm.gain, 1.0), ("shift", norm.shift, 0.0)):
        array = None if value is None else flow.array(value).reshape(-1, width)[:, turn].ravel()
        names = () if value is None else flow.parameters_of(value)
        yield Weight(f"{role} norm: {name}", role, at, path, array, names, neutral)


def _heads(flow: Flow, reading: AttentionReading, role: StepName, path: str) -> Cut:
    operand: Operand = getattr(reading, role)
    site = reading.sublayer.sites[0]
    value = getattr(site, f"{role}_value")
    step: StepName = role if operand.rotation is None else "rotary"
    after = None if operand.rotation is None else operand.rotation.pairing_after
    turn = _order(operand.rotation, operand.heads.shape[-1], after)
    place = flow.maker(value) or reading.sublayer.first_step
    return Cut(f"{role} heads", step, place, path, operand.heads[..., turn], flow.unit(value), 1)


def _masked(flow: Flow, reading: AttentionReading, path: str) -> Iterator[Item]:
    """Yield which keys are seen, where no word says it, and the bias of the logits."""
    setting, site = reading.setting, reading.sublayer.sites[0]
    if setting is None:
        return
    at = min(site.steps[0] + 1, site.steps[-1])
    if setting.mask is not None:
        table = np.ascontiguousarray(setting.mask.any(axis=1) if setting.mask.ndim > 3 else setting.mask)
        words = f"{int(table.sum())} of {table.size} pairs of a query and a key are seen"
        kept = SeenPairs(table)
        yield Choice("mask", "mask", at, path, kept, words, lambda usual: mask_otherwise(kept, usual))
    if setting.bias is not None:
        yield from _of_table(flow, setting, at, path)
        seen = visible_with(setting, setting.bias.shape)
        yield Cut("bias values", "logits", at, path, _in_rows(setting.bias, seen), flow.unit(site.query_value), 1)


def _in_rows(bias: Array, seen: Array) -> Array:
    """Return a bias less that of the last key that its row sees: what all logits of a row get has no effect."""
    bias, seen = np.broadcast_arrays(bias, seen)
    last = bias.shape[-1] - 1 - np.argmax(seen[..., ::-1], axis=-1)[..., None]
    return np.where(seen, bias - np.take_along_axis(bias, last, axis=-1), 0.0)


def _of_table(flow: Flow, setting: Setting, at: int, path: str) -> Iterator[Item]:
    """Yield the table of relative positions that a bias is made of, and which row each relative position gets."""
    assert setting.bias is not None
    found = buckets_of(flow, setting, visible_with(setting, setting.bias.shape)[0, 0])
    rule = None if found is None else found.rule
    if found is None or rule is None:
        return
    own = found.names[0].rpartition(".")[0] or path
    yield Weight("relative table", "logits", at, path, found.table, found.names)
    yield Choice("buckets", "logits", at, own, rule, rule.words, lambda usual: _mistaken_rule(rule, usual))


def _mistaken_rule(rule: BucketRule, usual: Hashable) -> str:
    """Return the mistake that a rule of buckets is where the other model has another."""
    turned = isinstance(usual, BucketRule) and usual.reversed != rule.reversed
    return "relative_index_transposed" if turned else "t5_bucket_wrong"


def _weights(reading: AttentionReading) -> Array | None:
    """Return the weights of an attention that is one operation, under the setting that it was found to have."""
    setting, heads = reading.setting, reading.heads
    if setting is None:
        return None
    key = np.repeat(heads.key, heads.query.shape[1] // heads.key.shape[1], axis=1)
    try:
        return np.asarray(reference.attention_weights(heads.query, key, **setting.keywords()))
    except (TypeError, ValueError):
        return None


def _output(flow: Flow, reading: AttentionReading, path: str) -> Iterator[Item]:
    exit_map = reading.sublayer.exit
    matrix = matrix_of(flow, exit_map)
    rows = None if matrix is None else _rows(flow, reading, len(matrix))
    array = matrix if matrix is None or rows is None else matrix[rows]
    step: StepName = "attention_output"
    heads = None if rows is None else (0, 1)
    yield Weight(
        "output weight",
        step,
        exit_map.step,
        path,
        array,
        exit_map.names,
        None,
        None if heads is None else heads[0],
        None if heads is None else heads[1],
        matrix,
    )
    bias = None if exit_map.bias is None else flow.array(exit_map.bias).ravel()
    names = () if exit_map.bias is None else flow.parameters_of(exit_map.bias)
    yield Weight("output bias", step, exit_map.step, path, bias, names, 0.0, stored=as_stored(flow, names))
    yield cut(flow, "attention output", step, exit_map.output, path)


def _rows(flow: Flow, reading: AttentionReading, count: int) -> Array | None:
    """Return which row of the output matrix each component of each head meets, (H, Dv); None where rows are mixed."""
    output = reading.heads.output
    batch, heads, length, width = output.shape
    exit_map = reading.sublayer.exit
    step = flow.steps[exit_map.step]
    sides = canonical_factors(flow, step)
    merged = flow.array(exit_map.input) if sides is None else sides[factors(step).index(exit_map.input)]
    if count != heads * width or merged.size != output.size:
        return None
    plain = output.swapaxes(1, 2)
    if any(np.array_equal(array.ravel(), merged.ravel()) for array in (plain, plain.swapaxes(0, 1))):
        return np.arange(count).reshape(heads, width)
    moved = places(output, merged)
    if moved is None:
        return None
    sample, head, position, component = np.unravel_index(moved.reshape(-1, count), output.shape)
    row = sample * length + position
    columns = head * width + component
    if (row != row[:, :1]).any() or len(np.unique(row[:, 0])) != batch * length or (columns != columns[:1]).any():
        return None
    return np.argsort(columns[0]).reshape(heads, width)
