"""Rounding error of merging two parts of an attention."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.bounds import disturbed
from veriformer.conformance_tests.rounding.precision import Precision

# Beyond any error that a bound is compared with, and far from the largest float64.
_LARGEST_LOGARITHM = 300.0


def merge_bound(
    outputs: tuple[Array, Array], logarithms: tuple[Array, Array], output: Array, lse: Array, precision: Precision
) -> tuple[Array, Array]:
    """Return the largest rounding errors of a correct output and of a correct log-sum-exp, entry by entry.

    The shares are a softmax of two logits a and b: differences and exponentials err by ε = u (2 |a − b| + 3), with a
    factor 2 because a kernel may go through base 2. As for attention, Σ p (e^ε − 1) |o_part − o| / Σ p e^(−ε) moves the
    output; sums, products and the quotient add 4u p |o_part|, shares taken as e^(a − lse) from the rounded result
    u |lse|, and the form o_a − σ(b − a) (o_a − o_b), which ring attention has, 2u (|o_a| + |o_b|) without the shares.

    lse = max + ln(1 + e^(−d)), or a − ln σ(a − b): u |lse| for the last addition, 2u |a − b| + 4u for the logarithm,
    which is at most ln 2 or |a − b| + ln 2.
    """
    unit = precision.stored
    logits = np.stack(logarithms, axis=-1)
    present = np.isfinite(logits)
    both = present.all(axis=-1)
    distance = np.where(both, np.abs(np.subtract(*_finite(logarithms))), 0.0)
    error = np.where(present, (unit * (2.0 * distance + 3.0))[..., None], 0.0)
    softmax = disturbed(logits, error)
    kept = np.where(np.isfinite(lse), np.abs(lse), 0.0)
    shared = 4.0 * unit + np.expm1(np.minimum(unit * kept, _LARGEST_LOGARITHM))[..., None]
    bound = unit * 2.0 * sum(np.where(both[..., None], np.abs(part), 0.0) for part in outputs)
    for place, part in enumerate(outputs):
        weight, rise = softmax.weights[..., place, None], softmax.rise[..., place, None]
        bound = bound + rise * np.abs(part - output) + shared * weight * np.abs(part)
    bound = bound + precision.output * np.abs(output) + 4.0 * precision.tiny
    logarithm = (precision.output + unit) * kept + np.where(both, unit * (2.0 * distance + 4.0), 0.0)
    return np.asarray(bound), np.asarray(logarithm + precision.tiny)


def _finite(logarithms: tuple[Array, Array]) -> tuple[Array, Array]:
    first, second = (np.where(np.isfinite(logarithm), logarithm, 0.0) for logarithm in logarithms)
    return first, second
