"""Rounding error of the gradients of activation functions.

The derivative of x g(s) is f′ = g + t, with the gate g of the forward pass and t = x g′(s) s′(x). Left of zero it
crosses zero, where g and t cancel, so that the error is absolute: relative to g + |t|. S = |s g′(s)| is known from the
forward pass, and |t| = κ S: κ = 1 where s is a multiple of x, (1 + 3c x²)/(1 + c x²) ≤ 3 in the tanh form, c =
0.044715.

    |δdx| ≤ |dO| (δg + δt + n u (g + |t| + δg + δt)) + (u + u′)(|dx| + …) + tiny …

**The argument.** r roundings of s, each of relative size u, change g′ by a factor of e^E at most. A logistic gate is g
= σ(z): the logarithm of its slope g (1 − g) has the derivative 1 − 2g by z, so that E = r u |z|. The density of the
erf form is e^(−s²), s² = x²/2, r = 2: s² errs by 2 r u and its own rounding, so that E = 5u x²/2 ≤ r u · 3x²/2. By the
mean value theorem g moves by r u S e^E at most. δg of the forward pass has r u S, and S (e^E − 1) is more than the
rest. S moves by that too, and t by κ times as much.

**The slope of the gate.** The density of the erf form does not cancel, and is good to K v, as all functions are. That
of a logistic gate is g (1 − g), or (1 − h²)/4 with h = tanh(z/2) = 2g − 1. It has an absolute error W, and t has κ |z|
W. The function alone is good to K v in h, which leaves K v/2 (1 + K v) in the product. Code that stores h or g, the
sum 1 + e^(−z) before, and 1 − g, rounds each: h² has 2u + u, and 1 − h² has u, divided by 4; the sum and the quotient
have 1.5u where g is close to 1, and their product with 1 − g another u of each. W ≤ 3u for all of these. As g (1 − g)
lies between 0 and 1/4, W ≤ 1/4 + 3u besides.

**Far from zero** that grows with |z|, and is what a program may err by whose function stops short of its limit: XLA's
tanh in float32, compiled without optimisation, ends at about 1 − 3u, so that the tanh form has −0.02 at −100. Only
where h or g is stored in fewer bits than the function has is it rounded to the limit, from 1 − |h| ≤ u/2 − K v on. The
slope is then zero, or small and good to a few roundings, and storing adds g (1 − g) e^E at most.

**Underflow** of one factor is multiplied by the others: x, the slope of the argument, and dO. Where t is below an
eighth of the smallest number, the slope of the gate is too, and is rounded to zero; a product of it with dO x is zero
or wrong by less than twice itself.

**n** counts the products on the longest way from dO to dx, and the sum. Differentiating 0.5 x (1 + h(s)): dO x, 0.5,
the constant of h′ and its product, the slope, its product, the slope of s and its product, the sum: 8 or 9, of which
0.5 is exact. In the tanh form s′ = √(2/π)(1 + 3 c x²) has six of its own, x² with 3, c and their products, and a sum:
13. The hidden form σ (1 + x (1 − σ)) of SiLU has 4.

Code that differentiates x / (1 + e^(−x)) as a quotient has 0 · ∞ where e^(−x) is infinite, and code that
differentiates x³ has it where x² is: both are wrong there.
"""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.activations.bounds import FUNCTION_ERROR, Gate, gate_error, gate_of
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.activations import SIGMOID_SLOPE, TANH_CUBIC, TANH_SLOPE

_PRODUCTS = 8.0
_PRODUCTS_OF_TANH = 13.0
# Of the argument of the logistic gate that the tanh form is.
_TANH_SLOPE = 2.0 * TANH_SLOPE
# Of the underflow of a factor: x, the slope of the argument and the gradient may each be large.
_FACTORS = 4.0


def activation_backward_bound(
    activation: str, form: str, x: Array, grad_output: Array, value: Array, precision: Precision
) -> Array:
    """Return the error of the gradient `value` of an activation function by its argument, entry by entry."""
    gate, argument = gate_of(activation, form, x), _argument(activation, form, x)
    erf, tanh = (activation == "gelu" and form == name for name in ("erf", "tanh"))
    steepness = (1.0 + 3.0 * TANH_CUBIC * x**2) / (1.0 + TANH_CUBIC * x**2) if tanh else np.ones(x.shape)
    moved = _grown(gate.sensitivity, gate.roundings * precision.stored * argument)
    largest = steepness * (gate.sensitivity + moved)
    of_slope = _of_density(largest, precision) if erf else steepness * argument * _of_slope(gate, argument, precision)
    derivative: Array = gate_error(gate, precision) + moved + steepness * moved + of_slope
    products = (_PRODUCTS_OF_TANH if tanh else _PRODUCTS) * precision.stored
    derivative += products * (gate.value + steepness * gate.sensitivity + derivative)
    error = np.abs(grad_output) * derivative
    error += (precision.stored + precision.output) * (np.abs(value) + error)
    error += precision.tiny + _underflow(x, grad_output, largest, precision, tanh=tanh)
    return np.asarray(error)


def _argument(activation: str, form: str, x: Array) -> Array:
    """Return what r u is multiplied by in E: |z| of a logistic gate σ(z), 3x²/2 of the normal density."""
    if activation == "silu":
        return np.asarray(np.abs(x))
    if form == "erf":
        return np.asarray(1.5 * x**2)
    return np.asarray(np.abs(SIGMOID_SLOPE * x if form == "sigmoid" else _TANH_SLOPE * x * (1.0 + TANH_CUBIC * x**2)))


def _grown(sensitivity: Array, exponent: Array) -> Array:
    """Return S (e^E − 1), zero where S is."""
    # Where S is not 0 in double precision, E is below 2⁷; the limit keeps 0 · ∞ out.
    return np.asarray(sensitivity * np.expm1(np.minimum(exponent, 500.0)))


def _of_density(term: Array, precision: Precision) -> Array:
    return np.asarray((FUNCTION_ERROR * precision.accumulation + precision.stored) * term)


def _of_slope(gate: Gate, argument: Array, precision: Precision) -> Array:
    """Return W, the error of g (1 − g) that does not come from its argument."""
    unit, function = precision.stored, precision.accumulation
    moved = np.exp(np.minimum(gate.roundings * unit * argument, 500.0))
    # 1 − |h| = 2 / (1 + e^|z|).
    left = np.exp(-argument)
    from_limit = 2.0 * left / (1.0 + left) * moved
    slope = left / (1.0 + left) ** 2
    computed = 0.5 * FUNCTION_ERROR * function * (1.0 + FUNCTION_ERROR * function)
    at_limit = from_limit <= 0.5 * unit - FUNCTION_ERROR * function
    of_storing = np.where(at_limit, slope * moved, 3.0 * unit)
    return np.asarray(np.minimum(computed + of_storing, 0.25 + 3.0 * unit))


def _underflow(x: Array, grad_output: Array, term: Array, precision: Precision, *, tanh: bool) -> Array:
    """Return the error of underflow, where the term t that has the slope of the gate is up to `term`."""
    slope = _TANH_SLOPE * (1.0 + 3.0 * TANH_CUBIC * x**2) if tanh else SIGMOID_SLOPE
    of_factors = _FACTORS * precision.underflow * (1.0 + np.abs(x)) * (1.0 + np.abs(grad_output))
    lost = (term <= precision.underflow / 8.0) & (np.abs(x) >= 1.0)
    return np.asarray(np.where(lost, of_factors + 2.0 * np.abs(grad_output) * term, of_factors * slope))
