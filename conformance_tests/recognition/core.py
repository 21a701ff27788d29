"""What an attention does between its heads and their outputs: scale, cap, bias, visible keys, sinks, softmax."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.adapters.capture.trace import Kind, Step
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import DOUBLE, agree
from veriformer.conformance_tests.recognition.elementwise import factor_of
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.relative_positions import is_of_query
from veriformer.conformance_tests.recognition.sites import Site
from veriformer.conformance_tests.recognition.tracking import carried

# Logits below this, added to others, hide a key: fills such as −1e4, −1e9, and the least number of a dtype.
_HIDING = -5e3


@dataclass(frozen=True, eq=False)
class Heads:
    """The operands of one attention in the specification's layout, and its result.

    `key` and `value` have one head for each group. `scale_before` is the factor that query and key already hold,
    `unit` the unit roundoff of the coarsest precision on the way to the result.
    """

    query: Array
    key: Array
    value: Array
    output: Array
    scale_before: float = 1.0
    unit: float = DOUBLE


@dataclass(frozen=True, eq=False)
class Setting:
    """The keywords with which the reference gives what the model computed.

    `bias` is an array that was added to the logits; `bias_value` says where it is in the trace.
    """

    is_causal: bool = False
    mask: Array | None = None
    window: tuple[int | None, int | None] | None = None
    scale: float | None = None
    softcap: float | None = None
    bias: Array | None = None
    bias_value: int | None = None
    sinks: Array | None = None
    conventions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of the reference's attention, those that are not there left out."""
        given = {
            "is_causal": self.is_causal or None,
            "mask": self.mask,
            "window": self.window,
            "scale": self.scale,
            "softcap": self.softcap,
            "bias": self.bias,
            "sinks": self.sinks,
        }
        return {name: value for name, value in given.items() if value is not None}

    @property
    def pattern(self) -> str:
        """Which keys a query sees, in a word."""
        if self.window is not None:
            return "causal window" if self.is_causal or self.window[1] == 0 else "window"
        if self.is_causal:
            return "causal" if self.mask is None else "causal and masked"
        return "every key" if self.mask is None else "masked"


def fits(heads: Heads, setting: Setting) -> bool:
    """Return whether the reference gives the model's result under a setting, whatever a query without a key gets."""
    empty = ("zeros", "nan", "mean_of_values") if setting.mask is not None else ("zeros",)
    return any(_gives(heads, setting, {"empty_row": one, **setting.conventions}) for one in empty)


def _gives(heads: Heads, setting: Setting, conventions: Mapping[str, Any]) -> bool:
    with np.errstate(all="ignore"):
        try:
            expected = reference.grouped_query_attention(
                heads.query, heads.key, heads.value, **setting.keywords(), **conventions
            )
        except ValueError:
            return False
    return agree(heads.output, expected, heads.unit)


def settings_of(flow: Flow, site: Site, heads: Heads, others: Sequence[Setting]) -> Iterator[Setting]:
    """Yield the settings to try: those read off the numbers, those of the model's `others`, the usual ones."""
    seen = list(_read(flow, site, heads))
    yield from seen
    scales = list(dict.fromkeys([*(one.scale for one in seen), *(one.scale for one in others), None, 1.0]))
    yield from others
    for is_causal in (True, False):
        for scale in scales:
            yield Setting(is_causal=is_causal, scale=_other_than_usual(scale, heads))


def _read(flow: Flow, site: Site, heads: Heads) -> Iterator[Setting]:
    if site.weights is None:
        yield from _of_fused(flow, site, heads)
    else:
        yield from _of_explicit(flow, site, heads)


def _of_fused(flow: Flow, site: Site, heads: Heads) -> Iterator[Setting]:
    given_scale = site.attributes.get("scale")
    of_operation = heads.query.shape[-1] ** -0.5 if given_scale is None else float(given_scale)
    scale = _other_than_usual(of_operation * heads.scale_before, heads)
    start = Setting(is_causal=bool(site.attributes.get("is_causal")), scale=scale)
    given = site.attributes.get("mask")
    if given is None:
        yield start
        return
    shape = (*heads.query.shape[:3], heads.key.shape[2])
    for visible, bias in _as_mask_and_bias(flow.array(given), shape):
        value = given if bias is not None else None
        for setting in seeing(start, visible):
            yield replace(setting, bias=bias, bias_value=value)


def _as_mask_and_bias(array: Array, shape: tuple[int, ...]) -> Iterator[tuple[Array, Array | None]]:
    """Yield which keys an additive or boolean mask leaves visible, and the bias that is left of it."""
    try:
        whole = np.broadcast_to(array, shape)
    except ValueError:
        return
    if whole.dtype.kind != "f":
        yield whole.astype(bool), None
        return
    visible = whole > _HIDING
    rest = np.where(visible, whole, 0.0)
    yield visible, (rest if np.any(rest) else None)


def seeing(start: Setting, visible: Array) -> Iterator[Setting]:
    """Yield the settings in which exactly these keys are visible, the simplest first."""
    length, keys = visible.shape[-2:]
    if visible.all():
        yield replace(start, is_causal=False)
        return
    causal = reference.causal_mask(length, keys)
    if np.array_equal(visible, np.broadcast_to(causal, visible.shape)):
        yield replace(start, is_causal=True)
        return
    for window in _windows(visible):
        yield replace(start, is_causal=window[1] == 0, window=window)
    by_key = visible.any(axis=-2, keepdims=True)
    if np.array_equal(visible, by_key & causal) and length == keys:
        yield replace(start, is_causal=True, mask=np.ascontiguousarray(np.broadcast_to(by_key, visible.shape)))
    yield replace(start, is_causal=False, mask=np.ascontiguousarray(visible))


def _windows(visible: Array) -> Iterator[tuple[int | None, int | None]]:
    """Yield the window with which exactly these keys are visible, if there is one."""
    length, keys = visible.shape[-2:]
    distance = np.arange(length)[:, None] - np.arange(keys)
    seen = distance[visible[0, 0]]
    if seen.size == 0:
        return
    left, right = int(max(seen.max(), 0)), int(max(-seen.min(), 0))
    table = (distance <= left) & (distance >= -right)
    # One side of every key before or after is no window: it is causality, or causality the wrong way round.
    is_window = left < keys - 1 and (right == 0 or (0 < right < keys - 1 and left > 0))
    if is_window and np.array_equal(visible, np.broadcast_to(table, visible.shape)):
        yield left, right


def _of_explicit(flow: Flow, site: Site, heads: Heads) -> Iterator[Setting]:
    weights = site.weights
    if weights is None or (weights < 0).any():
        return
    conventions: Mapping[str, str] = MappingProxyType({})
    if not np.isfinite(weights).all():
        # A query that sees no key.
        conventions = MappingProxyType({"empty_row": "nan"})
        weights = np.where(np.isfinite(weights), weights, 0.0)
    repeated = np.repeat(heads.key, heads.query.shape[1] // heads.key.shape[1], axis=1)
    products = heads.query @ repeated.swapaxes(-1, -2)
    visible = visible_in(weights)
    sinks = _sinks(flow, site, weights)
    for bias, value in biases(flow, site, products.shape):
        rest = np.where(visible, np.log(np.where(visible, weights, 1.0)) - (0.0 if bias is None else bias), 0.0)
        for scale, softcap in _scale_and_cap(products, rest, visible, heads, _factors(flow, site)):
            start = Setting(
                scale=_other_than_usual(scale, heads),
                softcap=softcap,
                bias=bias,
                bias_value=value,
                sinks=sinks,
                conventions=conventions,
            )
            yield from seeing(start, visible)


def visible_in(weights: Array) -> Array:
    """Return which keys get a weight. Where all are hidden by the same finite number, a query sees all keys alike."""
    same_for_all = np.ptp(weights, axis=-1, keepdims=True) <= 1e-12
    return np.asarray((weights > 0.0) & ~(same_for_all & (weights.shape[-1] > 1)))


def _factors(flow: Flow, site: Site) -> list[float]:
    """Return the numbers that the products are multiplied by on the way to the weights."""
    if site.logits_value is None or site.weights_value is None:
        return []
    size = flow.array(site.logits_value).size
    found = []
    for index in flow.between(site.logits_value, site.weights_value):
        step = flow.steps[index]
        before = [flow.array(one) for one in step.operands if flow.depends_on_input(one)]
        after = flow.array(step.results[0])
        if len(before) == 1 and before[0].size == after.size == size and after.dtype.kind == "f":
            found.append(factor_of(before[0], after, DOUBLE))
    return list(dict.fromkeys(factor for factor in found if factor is not None))


def biases(flow: Flow, site: Site, shape: tuple[int, ...]) -> Iterator[tuple[Array | None, int | None]]:
    """Yield no bias, then every fixed table that is added to the logits on the way to the weights."""
    yield None, None
    if site.logits_value is None or site.weights_value is None:
        return
    maker = flow.maker(site.logits_value)
    for index in ([] if maker is None else [maker]) + list(flow.between(site.logits_value, site.weights_value)):
        for one in flow.steps[index].operands:
            for table, shaped in _tables(flow, one, shape):
                cleared = np.where(shaped > _HIDING, shaped, 0.0)
                if np.any(cleared):
                    yield cleared, table
                    if flow.steps[index].kind != Kind.ADDITION:
                        # It may be taken off.
                        yield -cleared, table
                    # Products and bias are multiplied by the scale together.
                    yield from ((factor * cleared, table) for factor in _factors(flow, site))
    yield from _sum_of_tables(flow, site)


def _sum_of_tables(flow: Flow, site: Site) -> Iterator[tuple[Array, int]]:
    """Yield the sum of all that is added on the way, each where it is added, as masks of windows are.

    What is made of the query and a table, as relative positions are, is among it.
    """
    if site.logits_value is None or site.weights_value is None or site.order is None:
        return
    total, added = np.zeros(site.order.shape), list[int]()
    for index in flow.between(site.logits_value, site.weights_value):
        step = flow.steps[index]
        other = _added_to_logits(flow, site, step)
        if other is None:
            continue
        moved = carried(flow, step.results[0], site.weights_value)
        if moved is None or (moved < 0).any():
            return
        total += np.broadcast_to(flow.array(other), flow.shape(step.results[0])).ravel()[moved.ravel()[site.order]]
        added.append(other)
    cleared = np.where(total > _HIDING, total, 0.0)
    if np.any(cleared):
        of_query = (one for one in added if not flow.is_fixed(one))
        of_parameters = (one for one in added if flow.depends_on_parameters(one))
        value = next(chain(of_query, of_parameters, added))
        yield cleared, value
        yield from ((factor * cleared, value) for factor in _factors(flow, site))


def _added_to_logits(flow: Flow, site: Site, step: Step) -> int | None:
    """Return what a step adds to the logits: a fixed table, or what is made of a table and the projections."""
    if step.kind != Kind.ADDITION or site.logits_value is None:
        return None
    after = flow.descendants(site.logits_value)
    others = [one for one in step.operands if one != site.logits_value and one not in after]
    if len(others) != 1 or flow.array(others[0]).dtype.kind != "f" or flow.array(others[0]).ndim < 2:
        return None
    return others[0] if flow.is_fixed(others[0]) or is_of_query(flow, others[0]) else None


def _tables(flow: Flow, one: int, shape: tuple[int, ...]) -> Iterator[tuple[int, Array]]:
    """Yield a fixed table in the shape of the logits, also one to which a mask of the inputs was added before."""
    array = flow.array(one)
    if array.dtype.kind != "f" or array.size < 2 or array.ndim < 2:
        return
    if flow.is_fixed(one):
        yield from ((one, shaped) for shaped in _shaped(array, shape))
        return
    step = flow.making(one)
    if step is None or step.kind != Kind.ADDITION:
        return
    for term in step.operands:
        if not flow.is_fixed(term) or flow.array(term).dtype.kind != "f" or flow.array(term).ndim < 2:
            continue
        for whole, own in zip(_shaped(array, shape), _shaped(flow.array(term), shape), strict=False):
            if np.array_equal(whole[whole > _HIDING], own[whole > _HIDING]):
                # What was added hides keys and does nothing else.
                yield term, own


def _shaped(array: Array, shape: tuple[int, ...]) -> Iterator[Array]:
    candidates = [array]
    if array.ndim == 3 and array.shape[0] == shape[0] * shape[1]:
        candidates.append(array.reshape(shape[0], shape[1], *array.shape[1:]))
    for candidate in candidates:
        try:
            yield np.array(np.broadcast_to(candidate, shape))
        except ValueError:
            continue


def _scale_and_cap(
    products: Array, rest: Array, visible: Array, heads: Heads, factors: Sequence[float]
) -> Iterator[tuple[float, float | None]]:
    """Yield scale and cap with which the products become logits that differ by `rest` within each row.

    `factors` are the numbers that the model multiplies its logits by.
    """
    if any(one not in (1, size) for one, size in zip(visible.shape, products.shape, strict=False)):
        # What was taken for the weights is not of as many heads.
        return
    columns = np.broadcast_to(np.arange(products.shape[-1]), products.shape)
    first = np.where(visible, columns, products.shape[-1]).min(axis=-1, keepdims=True)
    usable = visible & (columns != first) & (first < products.shape[-1])
    first = np.minimum(first, products.shape[-1] - 1)
    with np.errstate(invalid="ignore"):
        of_products = (products - np.take_along_axis(products, first, -1))[usable]
        of_logits = (rest - np.take_along_axis(rest, first, -1))[usable]
    if of_products.size == 0 or not np.isfinite(of_products).all():
        return
    scale = float((of_products @ of_logits) / max(float(of_products @ of_products), 1e-300))
    if np.abs(scale * of_products - of_logits).max() <= 1e-6 * max(float(np.abs(of_logits).max()), 1e-300):
        # A factor that was read off a table of single precision leaves the scale a little beside the usual one.
        yield from dict.fromkeys(((_rounded(scale, heads), None), (scale, None)))
        return
    base = np.take_along_axis(products, first, -1) + np.zeros_like(products)
    for candidate in dict.fromkeys((heads.scale_before, 1.0 / math.sqrt(heads.query.shape[-1]), 1.0, *factors)):
        cap = _cap(candidate * products[usable], candidate * base[usable], of_logits)
        if cap is not None:
            yield candidate, cap


def _cap(logits: Array, first: Array, differences: Array) -> float | None:
    """Return c where c·tanh(z/c) − c·tanh(z₀/c) are the differences, by bisection on the one that is bent most."""
    plain = logits - first
    at = int(np.argmax(np.abs(plain)))
    target = differences[at]

    def bent(cap: float) -> Array:
        return np.asarray(cap * (np.tanh(logits / cap) - np.tanh(first / cap)))

    low, high = 1e-2, 1e6
    if abs(bent(high)[at]) < abs(target):
        return None
    for _ in range(200):
        middle = math.sqrt(low * high)
        if abs(bent(middle)[at]) < abs(target):
            low = middle
        else:
            high = middle
    largest = max(float(np.abs(differences).max()), 1e-300)
    rounded = (float(f"{high:.{digits}g}") for digits in (2, 3, 4, 6))
    return next((cap for cap in rounded if np.abs(bent(cap) - differences).max() <= 1e-5 * largest), None)


def _rounded(scale: float, heads: Heads) -> float:
    """Return a usual scale where a fitted one is that up to rounding."""
    width = heads.query.shape[-1]
    usual = (width**-0.5, 1.0, (width * heads.query.shape[1]) ** -0.5, 1.0 / width, width**-0.25)
    return next((one for one in usual if abs(one - scale) <= 1e-6 * one), scale)


def masked_causally(heads: Heads) -> Setting:
    """Return causality as a mask that is handed over, as most people write it."""
    length, keys = heads.query.shape[2], heads.key.shape[2]
    mask = np.broadcast_to(reference.causal_mask(length, keys), (*heads.query.shape[:2], length, keys))
    return Setting(mask=np.ascontiguousarray(mask))


def _other_than_usual(scale: float | None, heads: Heads) -> float | None:
    """Return the scale, None where it is 1/√D, which the reference takes by itself."""
    usual = heads.query.shape[-1] ** -0.5
    return None if scale is None or abs(scale - usual) <= 1e-12 * usual else float(scale)


def _sinks(flow: Flow, site: Site, weights: Array) -> Array | None:
    """Return the sinks that take what the weights lack to one; None where they lack nothing.

    Without a table of them it is a sink of 0, e⁰ = 1 in the denominator, which the weights must then agree with.
    """
    sums = weights.sum(axis=-1)
    # A row that sees no key has no weights, or none that are numbers.
    if np.all(sums[sums > 0] > 1 - 1e-6):
        return None
    heads = weights.shape[1]
    ancestors = flow.ancestors(site.weights_value) if site.weights_value is not None else {}
    for value in sorted(ancestors, key=lambda one: ancestors[one]):
        # Layers may have theirs in one table.
        array, is_learned = flow.array(value), flow.is_fixed(value) and flow.depends_on_parameters(value)
        if is_learned and array.size == heads and array.dtype.kind == "f":
            return array.ravel()
    return np.zeros(heads)
