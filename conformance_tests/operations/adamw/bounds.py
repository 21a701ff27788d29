"""Rounding error of a step of AdamW.

u is the unit roundoff of stored arrays, s that of the settings, which no implementation keeps in less than float32. A
power βᵗ is wrong by κ s of itself: κ is t for the rounding of β and, for the power, t again where it is multiplied out,
or 2 + 2 t |ln β| where it is an exponential. A complement errs by s whatever it is, so that a small one errs by much:

    1 − β        s + u (1 − β)                                the rounding of β, the difference; as an array's factor u
    c = 1 − βᵗ   relative b = s (1 + κ βᵗ / c) + u             ditto

    m   3 u (β₁ |m₀| + (1 − β₁) |g|) + s (|m₀| + |g|) + u |m| + 3 t + β₁ e_m₀ + (1 − β₁) e_g
    v   5 u v + s (v₀ + g²) + (3 + |g|) t + β₂ e_v₀ + (1 − β₂) (2 |g| + e_g) e_g

where t is the error of an underflow, and e are the errors with which moments and gradient come. Written as
β m₀ + (1 − β) g each product rounds its factor and itself; written as m₀ + (1 − β) (g − m₀), or from the other end
where β is below a half, the difference too, and the smaller of β and 1 − β multiplies it: 3 u of the sum in either
case. The square of g is one rounding more.

    √v    √v − √(v − e_v), or √(v + e_v) where v is smaller than its error; of both the larger
    r     = √(v/c₂): (e + 4u √v)/√c₂ (1 + b₂) + r b₂/2         the root, that of c₂, the quotient, in any order
    d     = r + ε: e_r + 2u ε + u d + t
    U     = m/(c₁ d): (e_m (1 + b₁)/c₁ + |m/c₁| (b₁ + 2u) + |U| e_d)/(d − e_d) + 2u |U|
    ηU    η (e_U + 3u |U|) + t (1 + 1/(d − e_d))               the rate rounded, before or after the quotient
    p     η (…) + (3u + s) |p₀| + 4u δ |p₀| + u′ |p|           δ = ηλ the decay: as a factor 1 − δ, or taken away
                                                              with ηU; u for the sums

The bound of U holds to all orders; where the error of d reaches d there is none, and the bound is infinite. ε is that
after the correction: ε/√c₂ where an implementation adds it before. The result is rounded to the dtype: u′.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF, Precision

Parts = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Settings:
    """The settings of a step: eps as it is after the correction, and the share of the parameter that decays."""

    step: int
    learning_rate: float
    beta1: float
    beta2: float
    eps: float
    decay: float


def step_bounds(
    parameter: Array,
    gradient: Array,
    moments: tuple[Array, Array],
    exact: Parts,
    settings: Settings,
    precision: Precision,
    errors: tuple[Array | float, Array | float, Array | float] = (0.0, 0.0, 0.0),
) -> Parts:
    """Return the largest errors of the new parameter and of its moments, entry by entry.

    `errors` are those of the gradient and of the two moments, which are exact unless given.
    """
    unit, scalar, tiny = precision.stored, _scalar(precision), precision.underflow
    result, mean, square = exact
    first, second = moments
    size = np.abs(gradient)
    weighed = settings.beta1 * np.abs(first) + (1.0 - settings.beta1) * size
    mean_error = 3.0 * unit * weighed + scalar * (np.abs(first) + size) + unit * np.abs(mean) + 3.0 * tiny
    square_error = 5.0 * unit * square + scalar * (second + gradient**2) + (3.0 + size) * tiny
    of_gradient, of_first, of_second = errors
    mean_error = mean_error + settings.beta1 * of_first + (1.0 - settings.beta1) * of_gradient
    square_error = square_error + settings.beta2 * of_second
    square_error = square_error + (1.0 - settings.beta2) * (2.0 * size + of_gradient) * of_gradient
    update = np.zeros(size.shape)
    # A step of rate 0 adds 0, however little is known of the update.
    if settings.learning_rate > 0.0:
        update = settings.learning_rate * _update_error((mean, mean_error), (square, square_error), settings, precision)
    old = np.abs(parameter)
    moved = (3.0 * unit + scalar) * old + 4.0 * unit * settings.decay * old + 2.0 * tiny
    moved += update
    return moved + precision.output * (np.abs(result) + moved), mean_error, square_error


def _update_error(
    mean: tuple[Array, Array], square: tuple[Array, Array], settings: Settings, precision: Precision
) -> Array:
    """Return the error of m/(c₁ d) with what the product with the learning rate adds, divided by that rate."""
    unit, tiny = precision.stored, precision.underflow
    share, share_error = _correction(settings.beta1, settings.step, precision)
    corrected = np.abs(mean[0]) / share
    corrected_error = mean[1] / share * (1.0 + share_error) + corrected * (share_error + 2.0 * unit)
    divisor, divisor_error = _divisor(*square, settings, precision)
    least = divisor - divisor_error
    update = corrected / divisor
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(least > 0.0, (corrected_error + update * divisor_error) / least, np.inf)
        underflow = np.where(least > 0.0, tiny * (1.0 + 1.0 / least), np.inf)
    return np.asarray(error + 5.0 * unit * (update + error) + underflow / max(settings.learning_rate, tiny))


def _divisor(square: Array, error: Array, settings: Settings, precision: Precision) -> tuple[Array, Array]:
    """Return √(v/c₂) + ε and its error."""
    unit = precision.stored
    share, share_error = _correction(settings.beta2, settings.step, precision)
    root = np.sqrt(square)
    below, above = root - np.sqrt(np.maximum(square - error, 0.0)), np.sqrt(square + error) - root
    moved = (np.maximum(below, above) + 4.0 * unit * root) / math.sqrt(share) * (1.0 + share_error)
    corrected = root / math.sqrt(share)
    divisor = corrected + settings.eps
    moved = moved + corrected * share_error / 2.0 + 2.0 * unit * settings.eps + unit * divisor + precision.underflow
    return divisor, moved


def _correction(beta: float, step: int, precision: Precision) -> tuple[float, float]:
    """Return 1 − βᵗ and its relative error."""
    power = beta**step
    logarithm = abs(math.log(beta)) if beta else 0.0
    rounded = step + max(float(step), 2.0 + 2.0 * step * logarithm)
    share = 1.0 - power
    return share, _scalar(precision) * (1.0 + rounded * power / share) + precision.stored


def _scalar(precision: Precision) -> float:
    """Return the unit roundoff of the settings, which are Python's numbers or an array of float32 at least."""
    return min(precision.stored, UNIT_ROUNDOFF["float32"])
