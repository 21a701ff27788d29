"""Rounding error of attention.

Changing each weight p_j by a factor e^(η_j) moves the output by Σ p_j (e^(η_j) − 1)(v_j − o) / Σ p_j e^(η_j),
because Σ p (v − o) = 0. A logit's error therefore counts with |v_j − o|, the distance of a value from the output,
and never moves the output further than the farthest visible value. A sink is one key more, whose value is zero.

Derivation: attention_rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.bounds import (
    Disturbed,
    disturbed,
    merged_normaliser_error,
    weight_error,
)
from veriformer.conformance_tests.rounding.averages import Weights, wrong_averages
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.conformance_tests.rounding.representable import kept_exactly, rounding_of_multiple

# In units u: PyTorch's kernels for 16 bits take an exponential that errs by 20 units in the last place.
_FUSED_EXPONENTIAL = 40.0


@dataclass(frozen=True)
class AttentionTerms:
    """The exact quantities of one attention, all (B, H, ...), from which its error bound follows.

    `logits` are −∞ where a key is not visible. The three `*_error` arrays are error bounds of the inputs, if they are
    results of earlier operations (projections). `sinks` (H,) are logits of their own, and `softcap` is None or 0 if
    there is none.
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
    softcap: float | None = None
    sinks: Array | None = None

    @property
    def exact_inputs(self) -> bool:
        """Whether each logit is a product of given vectors, and a bias: neither projected, capped, nor a sink's."""
        return self.query_error is None and not self.softcap and self.sinks is None

    @property
    def all_logits(self) -> Array:
        """The logits of the keys, followed by that of the sink."""
        return self.logits if self.sinks is None else np.append(self.logits, self._sink_column, axis=-1)

    @property
    def all_values(self) -> Array:
        """The values of the keys, followed by the sink's, which is zero; ValueError if there are none."""
        if self.value is None:
            raise ValueError("the bound of an attention output needs its values and its output")
        return self.value if self.sinks is None else self.beside_sink(self.value, axis=-2)

    def beside_sink(self, amounts: Array, axis: int = -1) -> Array:
        """Return amounts that belong to keys with a zero for the sink, if there is one."""
        if self.sinks is None:
            return amounts
        return np.append(amounts, np.zeros_like(np.take(amounts, [0], axis=axis)), axis=axis)

    @property
    def _sink_column(self) -> Array:
        if self.sinks is None:
            raise ValueError("there are no sinks")
        return np.broadcast_to(self.sinks[:, None, None], (*self.logits.shape[:-1], 1))


def logit_error(terms: AttentionTerms, precision: Precision) -> Array:
    """Return the absolute error of each logit, the sink's included, plus the relative error of its exponential.

    ε = γ(D) A + 2u A + 3u Z + u (max z − z) + 2u, A = s |q|·|k|, Z = max(|s q·k|, |z|), and the propagated errors
    of queries and keys. A soft cap, see `_capped`, is applied right after the products. Logits that 16 bits
    hold exactly err by less: see `_exactly_stored`. A scale applied as two roots is rounded twice, and a bias then
    rounds the logit once more: 3u |s q·k| + u |z| instead of 3u Z, where that is more. Fused kernels keep all of it
    in float32, the u here, and the fastest take exponentials that err by 20 units in the last place.
    """
    unit = precision.kept
    products, magnitude, propagated, error = _products(terms, precision)
    if terms.softcap:
        products, error = _capped(products, error + unit * np.abs(products), terms.softcap, unit)
    visible = np.isfinite(terms.all_logits)
    logits = np.where(visible, terms.all_logits, 0.0)
    error = terms.beside_sink(error) + unit * _stored_magnitude(terms.beside_sink(np.abs(products)), logits)
    if terms.exact_inputs and precision.accumulation < unit:
        error = _exactly_stored(terms, products, logits, magnitude, error, precision)
    highest = np.max(terms.all_logits, axis=-1, keepdims=True, initial=-np.inf)
    distance = np.where(visible, highest - logits, 0.0) + _largest_visible(terms, propagated)
    exponential = _FUSED_EXPONENTIAL if precision.fused else 2.0
    return np.where(visible, error + unit * (distance + exponential), 0.0)


def _products(terms: AttentionTerms, precision: Precision) -> tuple[Array, Array, Array | float, Array]:
    """Return the scaled products s q·k, A, what wrong queries and keys move them by, and the error of both."""
    query, key = np.abs(terms.query), np.abs(terms.key).swapaxes(-1, -2)
    magnitude = abs(terms.scale) * (query @ key)
    products = terms.scale * (terms.query @ terms.key.swapaxes(-1, -2))
    propagated = _propagated(terms, query, key)
    growth = precision.growth(terms.query.shape[-1])
    # The rounding errors are those of wrong queries and keys, which add to A and Z, and to the distance twice.
    error = (growth + 2.0 * precision.kept) * magnitude + (1.0 + growth + 6.0 * precision.kept) * propagated
    return products, magnitude, propagated, error


def cap_slope(terms: AttentionTerms, precision: Precision) -> tuple[Array, Array]:
    """Return the slope 1 − t² of the soft cap at each logit, t = tanh(z/c), and its error.

    t is wrong by δ = e/c, where the capped logit c t is by e. The slope is then wrong by 2 |t| δ + δ² and the
    roundings of the square and of the difference, 2u, and lies between 0 and 1 in any case.
    """
    if not terms.softcap:
        raise ValueError("the slope of a soft cap needs one")
    unit = precision.kept
    products, _, _, error = _products(terms, precision)
    capped, error = _capped(products, error + unit * np.abs(products), terms.softcap, unit)
    size, moved = np.abs(capped) / terms.softcap, error / terms.softcap
    slope = reference.soft_cap_slope(products, terms.softcap)
    return slope, np.minimum(2.0 * size * moved + moved**2 + 2.0 * precision.stored, 1.0)


def _stored_magnitude(products: Array, logits: Array) -> Array:
    """Return by how many u a logit errs where it is stored: 3 Z, or 3 |s q·k| + |z| if a bias stands between them.

    The product, its scale and the rounding of that, or of the root of the scale, which counts twice: 3 |s q·k|. What
    is stored after the bias has another u |z|. Powers of two take a rounded logarithm instead: 3 |z|.
    """
    size = np.abs(logits)
    biased = 3.0 * products + size * (size != products)
    return np.asarray(np.maximum(3.0 * size, biased))


def _exactly_stored(
    terms: AttentionTerms, products: Array, logits: Array, magnitude: Array, error: Array, precision: Precision
) -> Array:
    """Return the errors of logits, `error` where 16 bits do not hold what they are computed from: see `kept_exactly`.

    Else e = (γ(D) + 2u) A + 3u Z at the u of float32, in which products are summed, and what storing √s q and √s k
    changes, where a scale is applied as two roots, stored or not: |δq|·|√s k| + |√s q|·|δk| + |δq|·|δk|. Rounding x + e
    to a grid that has x moves it no further than x is away, to 2|e| from x; a logit is stored twice at most, as a
    product and with its bias: 4e. Powers of two instead of e^z need a factor log₂ e, which nothing holds exactly:
    kernels that take them keep logits in float32.
    """
    single, root = precision.accumulation, math.sqrt(abs(terms.scale))
    query, key = root * terms.query, root * terms.key.swapaxes(-1, -2)
    query_moved = rounding_of_multiple(terms.query, root, precision)
    key_moved = rounding_of_multiple(terms.key, root, precision).swapaxes(-1, -2)
    before = query_moved @ np.abs(key) + np.abs(query) @ key_moved + query_moved @ key_moved
    before += (precision.growth(terms.query.shape[-1]) + 2.0 * single) * magnitude
    before += 3.0 * single * np.maximum(np.abs(products), np.abs(logits))
    exact = kept_exactly(terms.query, terms.key, terms.scale, (products, logits), precision)
    return np.where(exact, np.minimum(error, 4.0 * before), error)


def _capped(logits: Array, error: Array, softcap: float, unit: float) -> tuple[Array, Array]:
    """Return the capped logits y = c tanh(z/c) and their error.

    The slope is 1 − tanh², largest where |z| − ε is nearest to 0; two capped logits differ by 2c at most. The rounding
    of z/c counts with |z| (1 − tanh²) ≤ |y|; tanh itself errs by 4 units in the last place (8u) in the loosest
    implementations in use (XLA's rational approximation), and the product by u: 10u |y| in all.
    """
    capped = softcap * np.tanh(logits / softcap)
    slope = 1.0 - np.tanh(np.maximum(np.abs(logits) - error, 0.0) / softcap) ** 2
    return capped, np.minimum(slope * error, 2.0 * softcap) + 10.0 * unit * np.abs(capped)


def _propagated(terms: AttentionTerms, query: Array, key: Array) -> Array | float:
    """Return s (|δq|·|k| + |q|·|δk| + |δq|·|δk|)."""
    if terms.query_error is None or terms.key_error is None:
        return 0.0
    key_error = terms.key_error.swapaxes(-1, -2)
    products: Array = terms.query_error @ key + query @ key_error + terms.query_error @ key_error
    return np.asarray(abs(terms.scale) * products)


def _largest_visible(terms: AttentionTerms, propagated: Array | float) -> Array | float:
    """Return by how much the largest logit of each row may be wrong because queries and keys are."""
    if isinstance(propagated, float):
        return 0.0
    seen = np.where(np.isfinite(terms.logits), propagated, 0.0)
    return np.asarray(np.max(seen, axis=-1, keepdims=True, initial=0.0))


def attention_weights_bound(terms: AttentionTerms, precision: Precision) -> Array:
    """Return the largest rounding error of correct attention weights, entry by entry; a sink's own is left out."""
    bound = weight_error(disturbed(terms.all_logits, logit_error(terms, precision)), precision)
    return bound if terms.sinks is None else bound[..., :-1]


def attention_bound(terms: AttentionTerms, precision: Precision) -> Array:
    """Return the largest rounding error of a correct attention output, entry by entry: see `AttentionBound`."""
    return AttentionBound(terms, precision).whole


@dataclass(frozen=True)
class AttentionBound:
    """The largest rounding error of a correct attention output, and parts of it that cost less.

    Logits move the output by at most m = min(Σ p (e^ε − 1) |v − o| / Σ p e^(−ε), max |v − o|); the weights, the sums
    and the result are rounded, and the values of multi-head attention are themselves wrong by δv. Fused numerics round
    the weights, or the exponentials before they are divided, and the result, and nothing else.
    """

    terms: AttentionTerms
    precision: Precision

    @cached_property
    def whole(self) -> Array:
        """The bound, which takes the distance of every value from every output."""
        precision, value_error = self.precision, self._value_error
        reached = np.minimum(self._softmax.weights + self._softmax.gain, 1.0)
        weights = Weights(self._softmax.rise, reached, self._visible)
        rounded_by = precision.stored if precision.fused else None
        wrong = wrong_averages(weights, self._value, self._output, value_error, rounded_by)
        magnitude = np.abs(self._value)
        if value_error is not None:
            magnitude = magnitude + value_error
        bound = self._rounded(wrong.moved, wrong.largest, self._shared)
        bound += precision.underflow * (1.0 + self._visible.astype(float) @ magnitude)
        if precision.fused:
            # The sum lacks underflowed terms too; the result's rounding applies to the moved result.
            bound += precision.underflow * np.sum(self._visible, axis=-1, keepdims=True) * np.abs(self._output)
            bound *= 1.0 + precision.output
        bound += (1.0 + self._shared) * wrong.carried
        return bound

    @property
    def of_sums(self) -> Array:
        """The part of the bound that costs one matrix product: exact logits, with rounded weights and sums."""
        return self._rounded(0.0, self._average, self._sum_error)

    @property
    def without_distances(self) -> Array:
        """The part of the bound that costs some matrix products: it underestimates the effect of wrong logits.

        By |a − b| ≥ ||a| − |b||, Σ r |v − o| ≥ |Σ r |v| − |o| Σ r|; and max |v − o| is no less than any average of it.
        """
        rise = self._softmax.rise
        total = np.sum(rise, axis=-1, keepdims=True)
        moved = np.abs(rise @ np.abs(self._value) - total * np.abs(self._output)) / np.maximum(total, 1.0)
        return self._rounded(moved, self._average, self._shared)

    def _rounded(self, moved: Array | float, average: Array, shared: Array | float) -> Array:
        """Return m + (δ + γ(S)) a + η (|o| + m): of m that wrong logits move, averages a, and η that a row shares."""
        rounding = self.precision.stored + self._growth
        return np.asarray(moved + rounding * average + shared * (np.abs(self._output) + moved))

    @property
    def _output(self) -> Array:
        if self.terms.output is None:
            raise ValueError("the bound of an attention output needs its values and its output")
        return self.terms.output

    @property
    def _value(self) -> Array:
        return self.terms.all_values

    @property
    def _value_error(self) -> Array | None:
        error = self.terms.value_error
        return None if error is None else self.terms.beside_sink(error, axis=-2)

    @property
    def _visible(self) -> Array:
        return np.asarray(np.isfinite(self.terms.all_logits))

    @property
    def _growth(self) -> float:
        return self.precision.growth(self.terms.all_logits.shape[-1])

    @property
    def _sum_error(self) -> float:
        """The relative error of the sum of the weights, of the quotient and of the result."""
        return self._growth + self.precision.kept + self.precision.output

    @cached_property
    def _error(self) -> Array:
        return logit_error(self.terms, self.precision)

    @cached_property
    def _softmax(self) -> Disturbed:
        return disturbed(self.terms.all_logits, self._error)

    @cached_property
    def _average(self) -> Array:
        """Σ p |v|, an average that correct weights do reach."""
        return np.asarray(self.terms.beside_sink(self.terms.weights) @ np.abs(self._value))

    @cached_property
    def _shared(self) -> Array:
        """The relative error that the sum, the quotient and the normaliser give all of a row."""
        normaliser = np.abs(self._softmax.normaliser) + np.max(self._error, axis=-1, keepdims=True, initial=0.0)
        merged = merged_normaliser_error(normaliser, self.terms.all_logits, self.precision)
        return np.asarray(self._sum_error + merged)
