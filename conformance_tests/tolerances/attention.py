"""Rounding error of attention.

Changing each weight p_j by a factor e^(η_j) moves the output by Σ p_j (e^(η_j) − 1)(v_j − o) / Σ p_j e^(η_j),
because Σ p (v − o) = 0. A logit's error therefore counts with |v_j − o|, the distance of a value from the output,
and never moves the output further than the farthest visible value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.tolerances.precision import Precision
from veriformer.conformance_tests.tolerances.softmax import disturbed, normaliser_error, weight_error

Array = np.ndarray


@dataclass(frozen=True)
class AttentionTerms:
    """The exact quantities of one attention, all (B, H, ...), from which its error bound follows.

    `logits` are −∞ where a key is not visible. The three `*_error` arrays are what the inputs themselves may be
    wrong by, when they are results of earlier operations (projections).
    """

    query: Array
    key: Array
    value: Array | None
    scale: float
    logits: Array
    weights: Array
    output: Array | None
    query_error: Array | None = None
    key_error: Array | None = None
    value_error: Array | None = None


def logit_error(terms: AttentionTerms, precision: Precision) -> Array:
    """Return the absolute error of each logit plus the relative error of its exponential.

    ε = γ(D) A + 2u A + 3u Z + u (max z − z) + 2u, A = s |q|·|k|, Z = max(|s q·k|, |z|), and the propagated errors
    of queries and keys.
    """
    unit = precision.stored
    query, key = np.abs(terms.query), np.abs(terms.key).swapaxes(-1, -2)
    magnitude = abs(terms.scale) * (query @ key)
    visible = np.isfinite(terms.logits)
    logits = np.where(visible, terms.logits, 0.0)
    size = np.maximum(np.abs(terms.scale * (terms.query @ terms.key.swapaxes(-1, -2))), np.abs(logits))
    highest = np.max(np.where(visible, terms.logits, -np.inf), axis=-1, keepdims=True, initial=-np.inf)
    distance = np.where(visible, highest - logits, 0.0)
    error = (precision.growth(terms.query.shape[-1]) + 2.0 * unit) * magnitude + unit * (3.0 * size + distance + 2.0)
    if terms.query_error is None or terms.key_error is None:
        return np.where(visible, error, 0.0)
    # The rounding errors are those of wrong queries and keys, which add to A and Z, and to the distance twice.
    propagated = np.where(visible, _propagated(terms, query, key), 0.0)
    error += (1.0 + precision.growth(terms.query.shape[-1]) + 6.0 * unit) * propagated
    return np.where(visible, error + unit * np.max(propagated, axis=-1, keepdims=True, initial=0.0), 0.0)


def _propagated(terms: AttentionTerms, query: Array, key: Array) -> Array:
    """Return s (|δq|·|k| + |q|·|δk| + |δq|·|δk|)."""
    if terms.query_error is None or terms.key_error is None:
        raise ValueError("errors of queries and of keys are given together")
    key_error = terms.key_error.swapaxes(-1, -2)
    products: Array = terms.query_error @ key + query @ key_error + terms.query_error @ key_error
    return np.asarray(abs(terms.scale) * products)


def attention_weights_bound(terms: AttentionTerms, precision: Precision) -> Array:
    """Return the largest rounding error of correct attention weights, entry by entry."""
    return weight_error(disturbed(terms.logits, logit_error(terms, precision)), precision)


def attention_bound(terms: AttentionTerms, precision: Precision) -> Array:
    """Return the largest rounding error of a correct attention output, entry by entry.

    Logits move the output by at most m = min(Σ p (e^ε − 1) |v − o| / Σ p e^(−ε), max |v − o|); the weights, the sums
    and the result are rounded, and the values of multi-head attention are themselves wrong by δv.
    """
    if terms.value is None or terms.output is None:
        raise ValueError("the bound of an attention output needs its values and its output")
    error = logit_error(terms, precision)
    softmax = disturbed(terms.logits, error)
    visible = np.isfinite(terms.logits)
    moved = _moved(softmax.rise, np.abs(terms.value[..., None, :, :] - terms.output[..., :, None, :]), visible)
    reached = np.minimum(softmax.weights + softmax.gain, 1.0)
    growth = precision.growth(terms.logits.shape[-1])
    normaliser = np.abs(softmax.normaliser) + np.max(error, axis=-1, keepdims=True, initial=0.0)
    shared = growth + precision.stored + precision.output + normaliser_error(normaliser, precision)
    magnitude = np.abs(terms.value)
    if terms.value_error is not None:
        magnitude = magnitude + terms.value_error
    bound = moved + (precision.stored + growth) * _largest_average(reached, magnitude, visible)
    bound += shared * (np.abs(terms.output) + moved)
    bound += precision.tiny * (1.0 + visible.astype(float) @ magnitude)
    if terms.value_error is not None:
        bound += (1.0 + shared) * _largest_average(reached, terms.value_error, visible)
    result: Array = bound
    return result


def _moved(rise: Array, spread: Array, visible: Array) -> Array:
    """Return how far wrong logits move the output: no further than to the farthest visible value."""
    linear = np.einsum("...ls,...lsd->...ld", rise, spread)
    farthest = np.max(np.where(visible[..., None], spread, 0.0), axis=-2, initial=0.0)
    return np.asarray(np.minimum(linear, farthest))


def _largest_average(reached: Array, amounts: Array, visible: Array) -> Array:
    """Return the largest average of nonnegative amounts (..., S, Dv) over visible keys that the weights allow."""
    largest = np.max(np.where(visible[..., None], amounts[..., None, :, :], 0.0), axis=-2, initial=0.0)
    return np.asarray(np.minimum(reached @ amounts, largest))
