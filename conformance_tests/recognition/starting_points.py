"""The settings from which the mistake of an attention is searched: what the model has, one decision being wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from veriformer.adapters.capture.trace import Step
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import DOUBLE
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.core import Heads, Setting, biases, masked_causally, seeing, visible_in
from veriformer.conformance_tests.recognition.elementwise import factor_of
from veriformer.conformance_tests.recognition.flow import Flow

_QUARTER = 4


def starting_points(flow: Flow, reading: AttentionReading, others: Sequence[Setting]) -> list[Setting]:
    """Return the settings of other attentions, the usual ones, then those with a cap or a bias that the trace shows."""
    usual = [*others, Setting(is_causal=True), Setting(), masked_causally(reading.heads)]
    seen = list(_seen(reading))
    # What a cap leaves of hidden logits is seen, so that each key may have a weight.
    return [*usual, *seen, *_with_parts(flow, reading, [*seen, Setting(is_causal=True)] if seen else usual[-3:])]


def _seen(reading: AttentionReading) -> Iterator[Setting]:
    """Yield the settings in which the keys are visible that have a weight."""
    weights = reading.weights
    if weights is None or not np.isfinite(weights).all() or (weights < 0).any():
        return
    visible = visible_in(weights)
    if visible.any(axis=-1).all():
        yield from seeing(Setting(scale=_scale_before(reading.heads)), visible)


def _with_parts(flow: Flow, reading: AttentionReading, settings: Sequence[Setting]) -> Iterator[Setting]:
    caps = list(dict.fromkeys(_caps(flow, reading)))
    heads = reading.heads
    shape = (*heads.query.shape[:3], heads.key.shape[2])
    for setting in settings:
        for scale, cap in caps:
            yield replace(setting, scale=scale, softcap=cap)
        for bias, value in biases(flow, reading.sublayer.sites[0], shape):
            if bias is not None:
                yield replace(setting, bias=bias, bias_value=value)


def _scale_before(heads: Heads) -> float | None:
    """Return the factor that query and key hold already; None where they hold none, or 1/√D as usual."""
    usual = heads.query.shape[-1] ** -0.5
    return None if heads.scale_before in (1.0, usual) else heads.scale_before


def _caps(flow: Flow, reading: AttentionReading) -> Iterator[tuple[float | None, float]]:
    """Yield scale and cap that the factors before and after a hyperbolic tangent may be meant as."""
    site, heads = reading.sublayer.sites[0], reading.heads
    if site.logits_value is None or site.weights_value is None:
        return
    products, before = flow.array(site.logits_value), heads.scale_before
    usual = _scale_before(heads)
    scale = usual if usual is not None else heads.query.shape[-1] ** -0.5
    for index in flow.between(site.logits_value, site.weights_value):
        step = flow.steps[index]
        if "tanh" not in step.operation.lower() or len(step.operands) != 1:
            continue
        # The factor from the products of bare queries and keys to what the tangent is taken of.
        argument = flow.array(step.operands[0])
        factor = (factor_of(products, argument, DOUBLE) or 1.0) * before
        for cap in (scale / factor, 1.0 / factor):
            if math.isfinite(cap) and cap > 0:
                yield usual, float(f"{cap:.9g}")
        yield from _by_what_follows(flow, step, products, before)


def _by_what_follows(flow: Flow, step: Step, products: Array, before: float) -> Iterator[tuple[float, float]]:
    """Yield scale and cap by the factor behind a tangent, which is the cap; a mask in front may hide some logits."""
    argument, (result,) = flow.array(step.operands[0]), step.results[:1]
    factor = _commonest_ratio(products, argument)
    for user in flow.users(result) if factor is not None else ():
        for value in flow.steps[user].results:
            cap = factor_of(flow.array(result), flow.array(value), DOUBLE)
            if cap is not None and math.isfinite(cap) and cap > 0 and factor is not None:
                yield float(f"{cap * factor * before:.9g}"), float(f"{cap:.9g}")


def _commonest_ratio(one: Array, other: Array) -> float | None:
    """Return the factor from one array to another in which at least a quarter of the entries agree; else None."""
    if one.size != other.size:
        return None
    first, second = one.ravel(), other.ravel()
    with np.errstate(all="ignore"):
        ratios = (second / first)[np.isfinite(second) & (first != 0.0)]
    middle = float(np.median(ratios)) if ratios.size else 0.0
    agreeing = np.abs(ratios - middle) <= 1e-9 * abs(middle)
    return middle if middle and _QUARTER * np.count_nonzero(agreeing) >= one.size else None
