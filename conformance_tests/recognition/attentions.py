"""Reads an attention sublayer: its heads, what is done to them, which keys are seen, and how the heads are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.core import Heads, Setting, fits, settings_of
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.heads import Merge, grouped, merge_of
from veriformer.conformance_tests.recognition.joined_operands import read_joined
from veriformer.conformance_tests.recognition.maps import canonical_factors, factors
from veriformer.conformance_tests.recognition.operands import Operand, read_operand
from veriformer.conformance_tests.recognition.sites import Site
from veriformer.conformance_tests.recognition.sublayers import AttentionSublayer


@dataclass(frozen=True, eq=False)
class AttentionReading:
    """What an attention sublayer was found to be.

    `setting` is None where no setting of the reference gives what the model computed. `merge` is None where the map
    after the attention reads something else than the heads' outputs. `weights` (B, H, L, S) is
    None where they are fused.
    """

    sublayer: AttentionSublayer
    query: Operand
    key: Operand
    value: Operand
    heads: Heads
    setting: Setting | None
    merge: Merge | None
    weights: Array | None = None

    @property
    def head_count(self) -> int:
        """The number of query heads H."""
        return int(self.query.heads.shape[1])

    @property
    def group_count(self) -> int:
        """The number of key/value heads G."""
        return int(self.key.heads.shape[1])


def read_attention(flow: Flow, sublayer: AttentionSublayer, others: Sequence[Setting]) -> AttentionReading:
    """Return what an attention is; `others` are the settings of the model's other attentions."""
    is_whole = len({(site.query.shape[2:], site.key.shape[2:]) for site in sublayer.sites}) == 1
    if not is_whole:
        # Pieces of several sizes, such as one for each query, are not put together.
        sublayer = replace(sublayer, sites=sublayer.sites[:1])
    query, key, value = (_operand(flow, sublayer, role) for role in ("query", "key", "value"))
    otherwise = sublayer.sites[0].otherwise
    if not _cut_by_columns(query) and otherwise is not None and len(sublayer.sites) == 1 and is_whole:
        other = replace(sublayer, sites=(otherwise,))
        if _cut_by_columns(_operand(flow, other, "query")):
            return read_attention(flow, other, others)
    output = np.concatenate([site.output for site in sublayer.sites], axis=1)
    site = sublayer.sites[0] if len(sublayer.sites) == 1 else _joined(sublayer)
    unit = max(flow.unit(one) for index in site.steps for one in flow.steps[index].results)
    heads = Heads(query.heads, key.heads, value.heads, output, query.factor * key.factor, unit)
    setting = None
    if is_whole and _groups_fit(query, key, value):
        setting = next((one for one in settings_of(flow, site, heads, others) if fits(heads, one)), None)
    # Heads that stand beside others in one axis have weights of their own among those of all.
    own = site.weights is not None and site.weights.shape[:2] == query.heads.shape[:2]
    weights = site.weights if own else None
    return AttentionReading(sublayer, query, key, value, heads, setting, _merge(flow, sublayer, output), weights)


def _cut_by_columns(operand: Operand) -> bool:
    """Return whether the way from the projection to the product is known, and each head has columns of its own."""
    return operand.understood and operand.split is not None and operand.split.columns is not None


def _groups_fit(query: Operand, key: Operand, value: Operand) -> bool:
    count = query.heads.shape[1]
    return key.heads.shape[1] == value.heads.shape[1] and all(
        one.groups.repeated_in_order(count) for one in (key, value)
    )


def _joined(sublayer: AttentionSublayer) -> Site:
    """Return several attentions of one head each as one of several heads."""
    first = sublayer.sites[0]
    sites = sublayer.sites

    def join(name: str) -> Array:
        return np.concatenate([getattr(site, name) for site in sites], axis=1)

    fused = any(site.weights is None for site in sites)
    return replace(
        first,
        query=join("query"),
        key=join("key"),
        value=join("value"),
        output=join("output"),
        weights=None if fused else join("weights"),
    )


def _operand(flow: Flow, sublayer: AttentionSublayer, role: str) -> Operand:
    maps = getattr(sublayer, role)
    sites = sublayer.sites
    if len(sites) == len(maps) and len(sites) > 1:
        parts = [
            read_operand(flow, one, getattr(site, role), getattr(site, f"{role}_value"))
            for one, site in zip(maps, sites, strict=True)
        ]
        return _side_by_side(parts)
    array = np.concatenate([getattr(site, role) for site in sites], axis=1)
    if role == "value" and sublayer.mixed is not None:
        groups = grouped(array)
        return Operand(groups.array, groups, sublayer.mixed.split)
    if len(sites) == 1:
        joined = read_joined(flow, maps, array, getattr(sites[0], f"{role}_value"))
        if joined is not None:
            return joined
    return read_operand(flow, maps[0], array, getattr(sites[0], f"{role}_value"))


def _side_by_side(parts: Sequence[Operand]) -> Operand:
    """Return heads that were projected one by one as one operand."""
    array = np.concatenate([part.heads for part in parts], axis=1)
    first = parts[0]
    return Operand(
        array,
        grouped(array),
        first.split,
        first.rotation,
        first.norm,
        first.order,
        first.factor,
        all(part.understood for part in parts),
    )


def _merge(flow: Flow, sublayer: AttentionSublayer, output: Array) -> Merge | None:
    step = flow.steps[sublayer.exit.step]
    sides = canonical_factors(flow, step)
    # A product that sums over heads and components at once has them wherever its operand has them.
    merged = flow.array(sublayer.exit.input) if sides is None else sides[factors(step).index(sublayer.exit.input)]
    return merge_of(output, merged)
