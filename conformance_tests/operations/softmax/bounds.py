"""Rounding error of softmax.

Derivation: attention_rounding, of weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import EmptyRow

# Beyond any error that a bound is compared with, and its square is far from the largest float64.
_LARGEST_LOGARITHM = 200.0
# The fewest keys of a block that kernels have by far; the roundings of smaller blocks are not allowed for.
_BLOCK = 4


@dataclass(frozen=True)
class Disturbed:
    """The effect of logits that are wrong by up to ε on a softmax.

    Weights are at most p e^ε / Σ p e^(−ε): `gain` is by how much more than p that is. `rise` is the part
    p (e^ε − 1) / Σ p e^(−ε), which moves averages. `normaliser` is log Σ e^z of each row.
    """

    weights: Array
    gain: Array
    rise: Array
    normaliser: Array


def softmax_over(logits: Array, visible: Array, empty_row: EmptyRow) -> tuple[Array, Array, Array]:
    """Return logits (−∞ where hidden), visible keys and weights of a softmax over the visible keys.

    A row without a visible key has no weight at all, except where the convention is the mean of all values: there
    it is a softmax over equal logits, of which every key is visible. An error bound follows from either.
    """
    if empty_row == "mean_of_values":
        empty = ~visible.any(axis=-1, keepdims=True)
        logits, visible = np.where(empty, 0.0, logits), visible | empty
    weights = reference.masked_softmax(logits, visible, empty_row="zeros")
    return logits if visible.all() else np.where(visible, logits, -np.inf), visible, weights


def disturbed(logits: Array, error: Array) -> Disturbed:
    """Return the effect on the softmax of logits (−∞ where hidden) that are wrong by `error`."""
    normaliser = log_normaliser(logits)
    logarithms = logits - normaliser
    weights = np.exp(logarithms)
    if np.max(error, initial=0.0) < 1.0:
        # Σ p e^(−ε) = 1 − Σ p (1 − e^(−ε)), which keeps errors of a few roundoffs exact.
        lowest = np.log1p(-np.sum(weights * -np.expm1(-error), axis=-1, keepdims=True))
        return Disturbed(
            weights, weights * np.expm1(error - lowest), weights * np.expm1(error) * np.exp(-lowest), normaliser
        )
    # In logarithms: an error of some hundred, which logits of 16 bits do have, lifts a weight that is nothing in
    # float64 to one that counts.
    lowest = log_normaliser(logarithms - error)
    gain = _exponential(_log_growth(logarithms, error - lowest))
    rise = _exponential(_log_growth(logarithms, error) - lowest)
    return Disturbed(weights, gain, rise, normaliser)


def _log_growth(logarithms: Array, exponent: Array) -> Array:
    """Return log p (e^x − 1) from log p, by e^x − 1 = e^x (1 − e^(−x))."""
    with np.errstate(divide="ignore"):
        return np.asarray(logarithms + exponent + np.log(-np.expm1(-np.maximum(exponent, 0.0))))


def _exponential(logarithm: Array) -> Array:
    return np.asarray(np.exp(np.minimum(logarithm, _LARGEST_LOGARITHM)))


def log_normaliser(logits: Array) -> Array:
    """Return log Σ e^z of each row, (..., 1); zero where nothing is visible."""
    highest = np.max(logits, axis=-1, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(highest), highest, 0.0)
    total = np.sum(np.exp(logits - shift), axis=-1, keepdims=True)
    return np.asarray(shift + np.log(np.where(total > 0, total, 1.0)))


def normaliser_error(normaliser: Array, precision: Precision) -> Array:
    """Return the relative error that a row's weights share when the normaliser is kept as its logarithm.

    p = exp(z − log Σ e^z), as in log_softmax and in kernels that hand the logarithm on, which is never of less than
    float32: rounding it to |log Σ e^z| (1 ± u′) multiplies the whole row by e^(± u′ |log Σ e^z|).
    """
    return np.asarray(np.expm1(np.minimum(precision.logarithm * np.abs(normaliser), _LARGEST_LOGARITHM)))


def merged_normaliser_error(normaliser: Array, logits: Array, precision: Precision) -> Array:
    """Return the relative error that a row's weights share when the logarithm is added up block by block.

    λ ← log(e^λ + e^λ′), the λ′ of a block of keys, is rounded once more for each block after the first, in proportion
    to what was added up so far, which lies between the largest logit of a block and the last λ. With blocks of four
    keys that is u′ (|λ| + (⌈S/4⌉ − 1) max(|λ|, largest |max z| of a block)). Smaller blocks, which no kernel has, may
    need more than is allowed, so that masks that leak little are still found.
    """
    keys = logits.shape[-1]
    blocks = [logits[..., first : first + _BLOCK] for first in range(0, keys, _BLOCK)]
    if len(blocks) < 2:
        return normaliser_error(normaliser, precision)
    largest = np.stack([np.max(one, axis=-1, keepdims=True, initial=-np.inf) for one in blocks])
    reached = np.max(np.where(np.isfinite(largest), np.abs(largest), 0.0), axis=0)
    size = np.abs(normaliser)
    return normaliser_error(size + (len(blocks) - 1) * np.maximum(size, reached), precision)


def softmax_bound(logits: Array, precision: Precision) -> Array:
    """Return the largest rounding error of a correct softmax, entry by entry.

    The subtraction of the maximum errs by u (max x − x), exp and the division by 2 u, all relative; the sum of
    n terms by γ(n). |δp| ≤ p (e^ε / Σ p e^(−ε) − 1) + (γ(n) + 2u + u′ |log Σ e^x|) p + tiny. Of fused numerics only the
    result is rounded to 16 bits, and u is that of float32 but for one of the two.

    Powers of two, 2^(x c − m), c = log₂ e (Dao 2023), round x c once more, and c once for all: with c (1 + δ) the
    distances of logits are (1 + δ) times as large, and whatever m is, every weight of a row has the same. So
    ε = u (max x − x + 3) + u″ (|x| + max x − x), u″ that of float32 at most: no kernel multiplies in 16 bits what it
    was given in 16 bits.
    """
    return weight_error(disturbed(logits, exponent_error(logits, precision)), precision)


def exponent_error(logits: Array, precision: Precision) -> Array:
    """Return ε, the error of x − max x that each exponential takes, and of the exponential itself."""
    highest = logits.max(axis=-1, keepdims=True)
    finite = np.isfinite(logits)
    distance = np.where(finite, highest - logits, 0.0)
    powers_of_two = precision.accumulation * (np.where(finite, np.abs(logits), 0.0) + distance)
    return np.asarray(precision.kept * (distance + 3.0) + powers_of_two)


def weight_error(softmax: Disturbed, precision: Precision) -> Array:
    """Return the error of weights whose logits are wrong: none falls below zero or rises above one.

    Fused weights are rounded once, and what that changes is itself wrong by what went before.
    """
    rounding = precision.growth(softmax.weights.shape[-1]) + precision.kept + precision.output
    shared = rounding + normaliser_error(softmax.normaliser, precision)
    gain = np.minimum(softmax.gain, 1.0)
    if precision.fused:
        once: Array = (1.0 + precision.output) * (gain + shared * softmax.weights) + precision.underflow
        return once
    bound: Array = gain + shared * softmax.weights + 2.0 * precision.tiny
    return bound
