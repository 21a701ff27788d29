"""Rounding error of activation functions.

Each is x g(s) with a gate g = (1 + h(s))/2: h = erf for GELU, tanh for its approximation, and tanh again for the
logistic function, because 2 σ(s) − 1 = tanh(s/2). On the left tail 1 + h cancels, so that the error is absolute:

    |δg| ≤ r u |s g′(s)| + K v / 2 + u |h| / 2 + 2u g

r roundings in the argument s, each of relative size u; h itself good to K v, v the precision that functions are
evaluated in; and the sum, rounded. Code that avoids the cancellation stays within the bound.

K = 16. Approximations of erf in single precision that libraries use err by up to five units of one (jax's; the
formula 7.1.26 of Abramowitz & Stegun, in torch's vectorised kernels, is good to 1.5e-7 before it is rounded), and
their polynomials add the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision

FUNCTION_ERROR = 16.0
# The largest |f′| of GELU in any form (1.1290, erf at √2) and of SiLU (1.0998): how far an error of x is carried on.
_STEEPEST = 1.13
# Of the part of an activation's own error that is made of u, the largest slope is 6.53 u (the tanh form at 0.785): how
# much larger it may be at a wrong x than at the right one.
_STEEPEST_ERROR = 7.0


@dataclass(frozen=True)
class Gate:
    """The gate of each entry, |s g′(s)| for its argument s, and how many roundings are in s."""

    value: Array
    sensitivity: Array
    roundings: float


def activation_bound(activation: str, form: str, x: Array, precision: Precision, x_error: Array | None = None) -> Array:
    """Return the error of an activation function, entry by entry, whose argument may be wrong by `x_error`.

    |δf| ≤ (|x| + |δx|) |δg| + u |f| + u′ |f| + tiny (1 + |x|) + (1.13 + 7u) |δx|; ReLU only propagates the error of its
    argument.
    """
    carried = np.zeros(x.shape) if x_error is None else x_error
    if activation == "relu":
        return carried
    gate = gate_of(activation, form, x)
    magnitude = np.abs(x)
    result = magnitude * gate.value
    bound: Array = (magnitude + carried) * gate_error(gate, precision)
    bound += (precision.stored + precision.output) * result + precision.tiny * (1.0 + magnitude)
    return bound + (_STEEPEST + _STEEPEST_ERROR * precision.stored) * carried


def gate_of(activation: str, form: str, x: Array) -> Gate:
    """Return the gate of GELU in a form, or of SiLU."""
    return _silu(x, 1.0, 1.0) if activation == "silu" else _GELU[form](x)


def gate_error(gate: Gate, precision: Precision) -> Array:
    """Return |δg|, entry by entry."""
    unit = precision.stored
    rounded = np.abs(2.0 * gate.value - 1.0)
    error: Array = gate.roundings * unit * gate.sensitivity + 2.0 * unit * gate.value
    return error + 0.5 * (FUNCTION_ERROR * precision.accumulation + unit * rounded)


def _erf(x: Array) -> Gate:
    """The argument s = x/√2: the root and the quotient are rounded; s g′(s) = x φ(x)."""
    density = np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi)
    return Gate(quotient(reference.gelu(x, "erf"), x), np.abs(x) * density, 2.0)


def _tanh(x: Array) -> Gate:
    """The argument s = √(2/π) (x + 0.044715 x³), terms of one sign: cube 2, two constants 4, sum 1 roundings."""
    slope = math.sqrt(2.0 / math.pi) * (1.0 + 0.044715 * x**2)
    value = quotient(reference.gelu(x, "tanh"), x)
    # s g′(s) = s sech²(s) / 2 = 2 s g (1 − g).
    return Gate(value, 2.0 * np.abs(x) * slope * value * (1.0 - value), 7.0)


def _silu(x: Array, slope: float, roundings: float) -> Gate:
    """The argument s = slope · x; s g′(s) = s g (1 − g), and exp takes its argument with one rounding more."""
    value = quotient(reference.silu(slope * x), slope * x)
    return Gate(value, np.abs(slope * x) * value * (1.0 - value), roundings + 1.0)


def quotient(result: Array, x: Array) -> Array:
    """Return the gate f(x)/x, which is 1/2 at zero."""
    return np.where(x == 0.0, 0.5, result / np.where(x == 0.0, 1.0, x))


_GELU: Mapping[str, Callable[[Array], Gate]] = {"erf": _erf, "tanh": _tanh, "sigmoid": lambda x: _silu(x, 1.702, 2.0)}
