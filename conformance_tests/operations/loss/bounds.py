"""Rounding error of cross entropy."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.bounds import log_normaliser
from veriformer.conformance_tests.rounding.precision import Precision


def surprise_bound(logits: Array, targets: Array, smoothing: float, precision: Precision) -> Array:
    """Return the largest rounding error of ℓ = lse(z) − Σ_k y_k z_k of each row, y = (1 − ε) one-hot(t) + ε/N.

    With m = max z, d = m − z, S = Σ e^(−d), p = softmax(z) and ℓ_k = lse(z) − z_k, the steps of any order err by

        ln S       u Σ p d + 2u + γ(N) + u + tiny N     each e^(−d) by the rounding of d and of exp, then their sum
                   + 2u ln S                            the logarithm, and its sum with m or with d
        lse        u |lse|                              where it is formed before z is subtracted
        ℓ_k        u d_k + 2u ℓ_k                       the distance, the difference, and −ln p_k once more
        Σ y ℓ      (γ(N) + 3u) Σ y_k (ℓ_k + |z_k|)      y rounded, the products, the sum; |z_k| where z is averaged

    Without smoothing the sum has one term and γ(N) is nothing: adding zeros is exact.
    """
    unit, count = precision.stored, logits.shape[-1]
    distance = logits.max(axis=-1, keepdims=True) - logits
    normaliser = log_normaliser(logits)
    surprise = normaliser - logits
    share = np.where(np.arange(count) == targets[:, None], 1.0 - smoothing, 0.0) + smoothing / count
    denominator = np.sum(np.exp(logits - normaliser) * distance, axis=-1) * unit
    denominator += precision.growth(count) + 3.0 * unit + precision.tiny * count
    denominator += 2.0 * unit * np.log(np.sum(np.exp(-distance), axis=-1))
    rows = unit * np.abs(normaliser[:, 0])
    entries = np.sum(share * unit * (distance + 2.0 * surprise), axis=-1)
    products = np.sum(share * (surprise + np.abs(logits)), axis=-1)
    averaging = precision.growth(count) if smoothing else 0.0
    bound: Array = denominator + rows + entries + (averaging + 3.0 * unit) * products
    return bound


def mean_bound(errors: Array, mean: float, precision: Precision) -> float:
    """Return the error of the mean of nonnegative numbers that are themselves wrong by `errors`.

    mean(errors) + (n u + 2u + u′) mean: the sum may be accumulated in the dtype itself, as torch does on the CPU; the
    count and the division are rounded, and the result. n u becomes 8 √n u for long sums, as everywhere.
    """
    count = errors.size
    accumulated = precision.growth(count) * precision.stored / precision.accumulation
    own = (accumulated + 2.0 * precision.stored + precision.output) * (abs(mean) + float(errors.mean()))
    return float(errors.mean()) + own + precision.tiny


def sum_bound(errors: Array, total: float, precision: Precision) -> float:
    """Return the error of the sum of nonnegative numbers that are themselves wrong by `errors`.

    Σ errors + (n u + u + u′) (sum + Σ errors): as of the mean, without the count and the division.
    """
    wrong = float(errors.sum())
    accumulated = precision.growth(errors.size) * precision.stored / precision.accumulation
    own = (accumulated + precision.stored + precision.output) * (abs(total) + wrong)
    return wrong + own + precision.tiny


def scattered_bound(errors: Array, losses: Array, kept: Array, precision: Precision) -> Array:
    """Return the error of each of the losses (B, L), which are wrong by `errors` where they are kept.

    errors + (u + u′) (ℓ + errors): each is stored and returned. At an ignored target nothing is computed: 0 is exact.
    """
    bound = np.zeros(losses.shape)
    bound[kept] = errors + (precision.stored + precision.output) * (losses[kept] + errors) + precision.tiny
    return bound
