"""Rounding error of the backward passes of layer normalisation and of root-mean-square normalisation.

With g = dO γ, c = x − μ (or x), y = c/r and w = c/t (t = r, but σ where eps is outside the root), both are

    dx = (g − G − w H)/r,  G = mean g (or 0),  H = mean(g y),    dγ = Σ dO y,  dβ = Σ dO

Libraries compute it in three ways, which are equal but for rounding: from y, as fused kernels do; as the derivatives of
mean, variance and quotient one after the other, where the factor of c is H/(r t) = mean(g c)/(r² t), and the mean gets
−Σ of all others; and from x without taking μ off, as PyTorch does on processors and as the derivative of
mean x² − μ² is, where mean(g c) = mean(g x) − μ G and c H/(r t) = x b − μ b. The bound holds for all.

u is the unit roundoff of what is stored and a that of sums, γ(n) of a sum; the mean errs by δ, a component of c by
δc = δ + u|c|, and 1/r by the part ρ, as in the forward pass (`normalisation.bounds`). Then, with a bar for the largest
that a value may be, |value| plus its error, and a prime for an error,

    g′ = 2u|g|                                                  gain and product
    G′ = mean g′ + (γ(n) + 2u) mean ḡ                           the sum, its division, its storing
    y′ = (1 + ρ) (δc + 3a (|x| + |μ|))/r + (ρ + 2u) |y|         from c, or as x/r − μ/r
    H′ = mean(ḡ y′ + g′|y|) + (γ(n) + 4u) mean(ḡ ȳ) + U
    U  = (1 + ρ) (γ(n) + 4a) (mean(ḡ|x|) + |μ| mean ḡ)/r
    P′ = w′ H̄ + |w| H′ + 6u w̄ H̄ + 4a (1 + ρ) H̄ (|x| + |μ|)/t       the product w H
    M  = H̄ ((1 + ρ) δ/t + (γ(n) + 3u) mean w̄)                             the mean of all w H, which is 0
    dx′ = (1 + ρ) (g′ + G′ + P′ + M + 6u (ḡ + Ḡ + w̄ H̄))/r + ρ |dx|
    dγ′ = Σ |dO| y′ + (γ(R) + 3u) Σ |dO| ȳ,  dβ′ = γ(R) Σ |dO|             R vectors

ρ multiplies the whole difference, for all its terms have one computed 1/r; further factors 1/r are in y′. 6u: products
and sums that are stored, and 1/r³ if it is a power or a quotient. Nothing cancels in mean x², so that δ and what comes
of x without μ are 0 for root-mean-square normalisation. All are bounds at the wrong values, so that nothing of second
order is left out. A component of c̃/σ̃ is never beyond √n (1 + γ(n) + 5u), σ̃ being the deviation of c̃: that bounds w′
where σ is near 0. Squares are taken in float32 at least, as in the forward pass, and so is 1/r³, which float16 cannot
hold if eps is small.

**Inside a layer** x is wrong already, by e, and so is dO, by d. A component of c is then wrong by e and mean e more, r
by η = √mean e² at most (`rounding.carried`), so that 1/r has the part η/(r − η) more, and g is wrong by d |γ|. All
that is rounded is as large as the largest that these allow.

Underflow: g, G and the products g c and g y may each lose τ, which counts with 1/r in H, and so may r g, b, b c.

Derivations: layer_norm and rms_norm of the formulas, normalisation_rounding of ρ and δ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.carried import Normalised
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True)
class Statistics:
    """What the forward pass leaves to the backward pass: c, |x| + |μ|, r, t, and how far they may be wrong.

    `shift` is δ and `root_error` ρ. `direction` is w, with its error.
    """

    centred: Array
    centred_error: Array
    magnitude: Array
    shift: Array
    divisor: Array
    root_error: Array
    direction: Array
    direction_error: Array
    floor: Array

    @property
    def normalised(self) -> Array:
        """The exact y."""
        return np.asarray(self.centred / self.divisor)

    def normalised_error(self, precision: Precision) -> Array:
        """Return y′."""
        moved = self.centred_error + 3.0 * precision.accumulation * self.magnitude + precision.underflow
        moved = (1.0 + self.root_error) * moved / self.divisor
        relative = self.root_error + 2.0 * precision.stored
        return np.asarray(moved + relative * np.abs(self.normalised) + precision.underflow)


def of_layer_norm(
    x: Array, eps: float, precision: Precision, *, inside_root: bool = True, x_error: Array | None = None
) -> Statistics:
    """Return the statistics of layer normalisation, whose vectors may be wrong by `x_error`."""
    unit, width = precision.stored, x.shape[-1]
    growth = precision.growth(width) + precision.accumulation
    mean = x.mean(axis=-1, keepdims=True)
    exact = Normalised.of(x - mean, eps, inside_root=inside_root)
    wrong = np.zeros(x.shape) if x_error is None else x_error
    largest = exact.largest(wrong, centring=True)
    wrong_mean = wrong.mean(axis=-1, keepdims=True)
    shift = growth * (np.mean(np.abs(x), axis=-1, keepdims=True) + wrong_mean) + unit * (np.abs(mean) + wrong_mean)
    root_error = largest.root_error(growth + 5.0 * unit, shift) + 5.0 * unit
    centred_error = shift + unit * np.abs(exact.centred) + precision.underflow
    magnitude = np.abs(x) + np.abs(mean)
    if x_error is not None:
        magnitude = magnitude + wrong + wrong_mean
        centred_error = centred_error + (1.0 + unit) * (wrong + wrong_mean)
        root_error = (1.0 + root_error) * (exact.divisor / largest.divisor) - 1.0
    known = exact.centred, centred_error, magnitude, shift, exact.divisor, root_error
    if inside_root:
        moved = (1.0 + root_error) * centred_error / exact.divisor
        error = moved + (root_error + 2.0 * unit) * np.abs(exact.result)
        return Statistics(*known, exact.result, error, exact.divisor)
    deviation = np.sqrt(np.mean(exact.centred**2, axis=-1, keepdims=True))
    direction = np.divide(exact.centred, deviation, out=np.zeros(x.shape), where=deviation > 0.0)
    floor = np.maximum(deviation - shift - growth * deviation, 0.5 * np.maximum(deviation, precision.tiny))
    if x_error is not None:
        least = np.maximum(deviation - np.sqrt(np.mean(wrong**2, axis=-1, keepdims=True)), 0.0)
        floor = np.maximum(least - shift - growth * least, precision.tiny)
    error = centred_error / floor + np.abs(direction) * (shift / floor + growth + 5.0 * unit)
    error = np.minimum(error, np.abs(direction) + np.sqrt(width) * (1.0 + growth + 5.0 * unit))
    return Statistics(*known, direction, error, floor)


def of_rms_norm(x: Array, eps: float, precision: Precision, x_error: Array | None = None) -> Statistics:
    """Return the statistics of root-mean-square normalisation, whose vectors may be wrong by `x_error`."""
    unit = precision.stored
    exact = Normalised.of(x, eps)
    squared = precision.growth(x.shape[-1]) + 5.0 * unit
    root_error = np.full(exact.divisor.shape, 1.0 / np.sqrt(1.0 - squared) - 1.0 + 5.0 * unit)
    nothing, result = np.zeros(x.shape), exact.result
    none = np.zeros(exact.divisor.shape)
    wrong = nothing + precision.underflow
    if x_error is not None:
        wrong = wrong + x_error
        largest = exact.largest(x_error, centring=False)
        root_error = (1.0 + root_error) * (exact.divisor / largest.divisor) - 1.0
    moved = (1.0 + root_error) * wrong / exact.divisor
    error = moved + (root_error + 2.0 * unit) * np.abs(result)
    return Statistics(x, wrong, nothing, none, exact.divisor, root_error, result, error, exact.divisor)


def vector_bound(
    statistics: Statistics,
    scaled: Array,
    gradient: Array,
    precision: Precision,
    *,
    centring: bool,
    carried: Array | None = None,
) -> Array:
    """Return the error of dx, of the exact value `gradient`; `scaled` is g, which may be wrong by `carried`."""
    unit, lost, few = precision.stored, precision.underflow, precision.accumulation
    growth = precision.growth(scaled.shape[-1])
    larger = (1.0 + statistics.root_error) / statistics.divisor
    wrong = np.zeros(scaled.shape) if carried is None else carried
    scaled_error = 2.0 * unit * (np.abs(scaled) + wrong) + wrong + lost
    largest = np.abs(scaled) + scaled_error
    mean = _mean(scaled) * centring
    mean_error = (_mean(scaled_error) + (growth + 2.0 * unit) * _mean(largest) + lost) * centring
    largest_mean = np.abs(mean) + mean_error
    y_error = statistics.normalised_error(precision)
    along = _mean(scaled * statistics.normalised)
    along_error = _mean(largest * y_error + scaled_error * np.abs(statistics.normalised))
    along_error += (growth + 4.0 * unit) * _mean(largest * (np.abs(statistics.normalised) + y_error))
    not_centred = (growth + 4.0 * few) * _mean(largest * statistics.magnitude)
    along_error += larger * (not_centred + 2.0 * lost) + lost
    largest_along = np.abs(along) + along_error
    direction, direction_error = np.abs(statistics.direction), statistics.direction_error
    widest = direction + direction_error
    product = direction_error * largest_along + direction * along_error + 6.0 * unit * widest * largest_along
    apart = 4.0 * few * (1.0 + statistics.root_error) * statistics.magnitude / statistics.floor
    product += largest_along * apart
    off_centre = (1.0 + statistics.root_error) * statistics.shift / statistics.floor
    moved_mean = largest_along * (off_centre + (growth + 3.0 * unit) * _mean(widest)) * centring
    stored = 6.0 * unit * (largest + largest_mean + widest * largest_along)
    total = scaled_error + mean_error + product + moved_mean + stored
    total += lost * statistics.divisor * (2.0 + np.abs(statistics.centred) * (1.0 + largest_along))
    bound = larger * total + statistics.root_error * np.abs(gradient)
    return np.asarray(bound + precision.output * (np.abs(gradient) + bound) + precision.tiny)


def gain_bound(
    statistics: Statistics,
    grad_output: Array,
    gradient: Array,
    precision: Precision,
    grad_error: Array | None = None,
) -> Array:
    """Return the error of dγ, of the exact value `gradient`, where the output's gradient may be wrong already."""
    given = np.abs(grad_output) if grad_error is None else np.abs(grad_output) + grad_error
    error = statistics.normalised_error(precision)
    largest = np.abs(statistics.normalised) + error
    rounded = precision.growth(given[..., 0].size) + 3.0 * precision.stored
    carried = 0.0 if grad_error is None else _sum(grad_error * np.abs(statistics.normalised))
    bound = (
        carried
        + _sum(given * error)
        + rounded * _sum(given * largest)
        + _sum(np.ones(given.shape)) * precision.underflow
    )
    return np.asarray(bound + precision.output * (np.abs(gradient) + bound) + precision.tiny)


def shift_bound(grad_output: Array, gradient: Array, precision: Precision) -> Array:
    """Return the error of dβ, of the exact value `gradient`."""
    rows = grad_output[..., 0].size
    bound = precision.growth(rows) * _sum(np.abs(grad_output)) + rows * precision.underflow
    return np.asarray(bound + precision.output * (np.abs(gradient) + bound) + precision.tiny)


def _mean(values: Array) -> Array:
    return np.asarray(values.mean(axis=-1, keepdims=True))


def _sum(values: Array) -> Array:
    return np.asarray(values.reshape(-1, values.shape[-1]).sum(axis=0))
