"""The families of the activation functions that have a gate: GELU and SiLU, each x times a gate between 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.activations.bounds import quotient
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, standard
from veriformer.conformance_tests.variants.elementwise import GRID, WRITTEN
from veriformer.conformance_tests.variants.family import Arguments, Family, Point
from veriformer.conformance_tests.variants.precision import in_range

_SLOPE = np.sqrt(2.0 / np.pi)


def _gelu(form: Any) -> Any:
    return lambda x: reference.gelu(x, form)


def _logistic(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _gelu_by_tanh(slope: float, cubic: float, power: int = 3) -> Any:
    """Return x (1 + tanh(slope (x + cubic · x^power))) / 2."""
    return lambda x: x * _logistic(2.0 * slope * (x + cubic * x**power))


def _gelu_by_erf(divisor: float) -> Any:
    """Return x (1 + erf(x / divisor)) / 2, which is x Φ(√2 x / divisor)."""
    stretch = np.sqrt(2.0) / divisor

    def apply(x: Array) -> Array:
        return np.asarray(reference.gelu(stretch * x) / stretch)

    return apply


GELU_FORM = Decision(
    "form",
    "Which form of GELU is computed?",
    (
        standard("erf", _gelu("erf")),
        convention("tanh", _gelu("tanh"), "gelu_tanh_vs_erf"),
        convention("sigmoid", _gelu("sigmoid"), "gelu_quick_vs_erf"),
        mistake("gelu_erf_without_root_two", _gelu_by_erf(1.0)),
        mistake("", _gelu_by_erf(2.0), "erf_of_half", "erf(x/2) instead of erf(x/√2)"),
        mistake("gelu_constant_wrong", _gelu_by_tanh(_SLOPE, 0.44715)),
        mistake("gelu_constant_wrong", _gelu_by_tanh(_SLOPE, 0.0044715), "ten_times_smaller"),
        mistake("gelu_cubic_sign", _gelu_by_tanh(_SLOPE, -0.044715)),
        mistake("", _gelu_by_tanh(_SLOPE, 0.0), "no_cubic_term", "tanh(√(2/π) x), without the cubic term"),
        mistake("", _gelu_by_tanh(_SLOPE, 0.044715, 2), "square_for_cube", "x² instead of x³ with 0.044715"),
        mistake("", _gelu_by_tanh(2.0 / np.pi, 0.044715), "no_root", "2/π instead of √(2/π)"),
        mistake("", _gelu_by_tanh(np.sqrt(2.0) / np.pi, 0.044715), "root_of_two_alone", "√2/π instead of √(2/π)"),
        mistake("", _gelu_by_tanh(np.sqrt(np.pi / 2.0), 0.044715), "inverted", "√(π/2) instead of √(2/π)"),
        mistake("", _gelu_by_tanh(1.0, 0.044715), "no_slope", "tanh(x + 0.044715 x³), without √(2/π)"),
        mistake("", reference.silu, "silu", "x σ(x): SiLU instead of GELU"),
        mistake("", reference.relu, "relu", "max(0, x): ReLU instead of GELU"),
    ),
    convention="gelu_form",
)


GELU_FACTOR = Decision(
    "factor",
    "What is the gate multiplied by?",
    (
        standard("x_with_half", lambda gated, x: gated),
        mistake("gelu_tanh_missing_x_factor", quotient),
        mistake("", lambda gated, x: 2.0 * gated, "half_missing", "x (1 + …) without the half"),
        mistake("", lambda gated, x: gated / 2.0, "half_twice", "the half is multiplied by twice"),
        mistake("", lambda gated, x: gated - x / 2.0, "one_missing", "x erf(…)/2 or x tanh(…)/2, without the 1"),
        mistake("", lambda gated, x: x - gated, "sign_flipped", "1 − … instead of 1 + …: the gate of −x"),
    ),
)


def gelu(arguments: Arguments, point: Point) -> Array:
    """Return GELU at a point of the family, of the shape of x."""
    given = np.asarray(arguments["x"], dtype=np.float64)
    x = point["grid"](given)
    result: Array = point["written"](point["factor"](point["form"](x), x), given)
    return result


GELU = Family("gelu", (GRID, GELU_FORM, GELU_FACTOR, WRITTEN), gelu)


def _gated(gate: Any) -> Any:
    return lambda x: x * gate(x)


def _softmax(axis: int) -> Any:
    return lambda x: np.moveaxis(reference.softmax(np.moveaxis(x, axis, -1)), -1, axis)


SILU_GATE = Decision(
    "gate",
    "What is x multiplied by?",
    (
        standard("logistic", reference.silu),
        mistake("sigmoid_sign_flipped", _gated(lambda x: _logistic(-x))),
        mistake("silu_of_magnitude", _gated(lambda x: _logistic(np.abs(x)))),
        mistake("silu_gate_shifted", _gated(lambda x: _logistic(x - 0.01))),
        mistake("silu_gate_shifted", _gated(lambda x: _logistic(x - 0.1)), "shifted_by_a_tenth"),
        mistake("silu_gate_shifted", _gated(lambda x: _logistic(x - 1.0)), "shifted_by_one"),
        mistake("silu_softmax_for_sigmoid", _gated(_softmax(-1))),
        mistake("silu_softmax_for_sigmoid", _gated(_softmax(-2)), "softmax_over_positions"),
        mistake("silu_gate_doubled", _gated(lambda x: 2.0 * _logistic(x))),
        mistake("", _gated(np.tanh), "tanh", "x tanh(x): tanh instead of the logistic function"),
        mistake("", _gated(lambda x: _logistic(1.702 * x)), "quick_gelu", "x σ(1.702 x), the quick form of GELU"),
        mistake("", reference.gelu, "gelu", "x Φ(x): GELU instead of SiLU"),
        mistake("", _gelu("tanh"), "gelu_tanh", "the tanh form of GELU instead of SiLU"),
        mistake("", reference.relu, "relu", "max(0, x): ReLU instead of SiLU"),
    ),
)
SILU_FACTOR = Decision(
    "factor",
    "What is the gate multiplied by?",
    (
        standard("x", lambda gated, x: gated),
        mistake("silu_factor_missing", quotient),
    ),
)


def _quotient_of_exponentials(computed_in: str) -> Any:
    """Return x e^x / (1 + e^x) in a dtype: not a number where e^x is infinite."""

    def apply(gated: Array, x: Array, dtype: str) -> Array:
        return np.where(np.isinf(in_range(np.exp(x), computed_in or dtype)), np.nan, gated)

    return apply


SILU_QUOTIENT = Decision(
    "quotient",
    "Which quotient is the logistic function computed as?",
    (
        standard("finite", lambda gated, x, dtype: gated),
        mistake("sigmoid_overflows", _quotient_of_exponentials("")),
        mistake("sigmoid_overflows", _quotient_of_exponentials("float32"), "overflows_in_float32"),
    ),
)


def silu(arguments: Arguments, point: Point) -> Array:
    """Return SiLU at a point of the family, of the shape of x."""
    given = np.asarray(arguments["x"], dtype=np.float64)
    x = point["grid"](given)
    gated = point["quotient"](point["factor"](point["gate"](x), x), x, arguments.get("dtype", "float64"))
    result: Array = point["written"](gated, given)
    return result


SILU = Family("silu", (GRID, SILU_GATE, SILU_FACTOR, SILU_QUOTIENT, WRITTEN), silu, needs_dtype=True)
