"""Heads of which one part comes from one projection and the rest from another, such as keys of latent attention.

There the part that is turned by positions is projected from the stream, and has one head for all (DeepSeek-AI 2024,
"DeepSeek-V2", section 2.1.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.elementwise import factor_of
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.heads import grouped
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.operands import Operand, read_operand


def read_joined(flow: Flow, maps: Sequence[LinearMap], heads: Array, end: int) -> Operand | None:
    """Return heads (B, H, L, D) that were joined along D of parts from several projections; None where they were not.

    `maps` are the projections behind them. A part without norms is read like heads of its own.
    """
    found = _joined(flow, end) if len(maps) > 1 else None
    before = None if found is None else _unscaled(flow, found[0], heads, flow.unit(end))
    if found is None or before is None:
        return None
    joined, (heads, factor) = found[1], before
    places = _places(flow, joined, heads)
    sources = [_source(flow, maps, one) for one in joined]
    if places is None or any(one is None for one in sources):
        return None
    parts = [
        read_operand(flow, one, np.ascontiguousarray(heads[..., place]), value)
        for one, place, value in zip(sources, places, joined, strict=True)
        if one is not None
    ]
    if not all(one.understood and one.split is not None and one.norm is None for one in parts):
        return None
    whole = _whole(parts)
    return None if whole is None else replace(whole, factor=whole.factor * factor)


def _unscaled(flow: Flow, value: int, heads: Array, unit: float) -> tuple[Array, float] | None:
    """Return a value as the heads (B, H, L, D) that were made of it by one factor, with the factor."""
    array = flow.array(value)
    orders = [one for one in permutations(range(array.ndim)) if tuple(array.shape[axis] for axis in one) == heads.shape]
    for order in orders:
        arranged = array.transpose(order)
        factor = 1.0 if np.array_equal(arranged, heads) else factor_of(arranged, heads, unit)
        if factor is not None:
            return arranged, factor
    return None if orders else (heads, 1.0)


def _whole(parts: Sequence[Operand]) -> Operand | None:
    """Return parts that were read one by one as one operand."""
    turned = [number for number, one in enumerate(parts) if one.rotation is not None]
    first = parts[0].split
    if len(turned) > 1 or len({one.factor for one in parts}) != 1 or first is None:
        return None
    before = _beside([one.before for one in parts if one.before is not None])
    after = grouped(_beside([one.heads for one in parts]))
    rotation = parts[turned[0]].rotation if turned else None
    if rotation is not None:
        rotation = replace(rotation, at_end=turned[0] == len(parts) - 1)
    order = ("rotary",) if rotation is not None else ()
    return Operand(after.array, after, replace(first, array=before), rotation, None, order, parts[0].factor)


def _beside(arrays: Sequence[Array]) -> Array:
    """Return arrays (B, H or 1, L, D) side by side, those with one head repeated."""
    count = max(one.shape[1] for one in arrays)
    whole = [np.broadcast_to(one, (one.shape[0], count, *one.shape[2:])) for one in arrays]
    return np.concatenate(whole, axis=-1)


def _joined(flow: Flow, value: int) -> tuple[int, list[int]] | None:
    """Return what a value was moved from, perhaps times one number, and what that was put together from."""
    *_, last = flow.handed_on(value, scaled=True)
    step = flow.making(last)
    if step is None or step.kind != Kind.REARRANGEMENT:
        return None
    parts = _filled(flow, last, _moving(flow, step))
    return (last, [_copied(flow, one) for one in parts]) if len(parts) > 1 else None


def _moving(flow: Flow, step: Step) -> list[int]:
    return [one for one in step.operands if flow.array(one).dtype.kind == "f" and flow.depends_on_input(one)]


def _filled(flow: Flow, value: int, moving: list[int]) -> list[int]:
    """Return the parts of a value: those that were joined, or that an array was filled with one after the other."""
    whole = flow.shape(value)
    before = [one for one in moving if flow.shape(one) == whole]
    step = flow.making(before[0]) if len(before) == 1 else None
    if step is None:
        return moving
    return [*_filled(flow, before[0], _moving(flow, step)), *(one for one in moving if one not in before)]


def _copied(flow: Flow, value: int) -> int:
    """Return the operand that a step wrote into a part of an array, where it did."""
    step = flow.making(value)
    if step is None or step.kind != Kind.REARRANGEMENT or len(step.operands) < 2:
        return value
    same = [one for one in step.operands if _is_spread(flow.array(one), flow.array(value))]
    return same[0] if len(same) == 1 else value


def _is_spread(array: Array, over: Array) -> bool:
    """Return whether an array is the other one, repeated along axes."""
    try:
        return bool(np.array_equal(np.broadcast_to(array, over.shape), over))
    except ValueError:
        return False


def _places(flow: Flow, joined: Sequence[int], heads: Array) -> list[slice] | None:
    """Return where each part is among the components; None where the parts are not components of heads."""
    batch, count, length, width = heads.shape
    places: list[slice] = []
    first = 0
    for value in joined:
        array = flow.array(value)
        for own in (count, 1):
            wide, rest = divmod(array.size, batch * own * length)
            part = heads[..., first : first + wide]
            if not rest and 0 < wide <= width - first and np.isin(part, array).all() and np.isin(array, part).all():
                places.append(slice(first, first + wide))
                first += wide
                break
        else:
            return None
    return places if first == width else None


def _source(flow: Flow, maps: Sequence[LinearMap], value: int) -> LinearMap | None:
    """Return the one projection that a value was made from without another between."""
    outputs = {one.output for one in maps} | {one.product for one in maps}
    behind = flow.ancestors(value, stop=lambda one: one in outputs)
    found = [one for one in maps if one.output in behind or one.product in behind]
    return found[0] if len(found) == 1 else None
