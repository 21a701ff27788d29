"""The families of the gradients of GELU and SiLU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.activations.bounds import quotient
from veriformer.conformance_tests.operations.activations.variants import GELU_FORM, SILU_GATE
from veriformer.conformance_tests.variants.decision import Decision, Option, convention, mistake, neighbour, standard
from veriformer.conformance_tests.variants.elementwise import GRID, WRITTEN
from veriformer.conformance_tests.variants.family import Arguments, Family, Point
from veriformer.conformance_tests.variants.precision import in_range

Function = Callable[[Array], Array]
# The activation and its derivative.
Pair = tuple[Function, Function]
_STEP = 2.0**-10


def _slope(function: Function) -> Function:
    """Return the derivative of a function by differences of fourth order, good to eleven digits."""

    def derivative(x: Array) -> Array:
        near = function(x + _STEP) - function(x - _STEP)
        far = function(x + 2.0 * _STEP) - function(x - 2.0 * _STEP)
        return np.asarray((8.0 * near - far) / (12.0 * _STEP))

    return derivative


def _gelu(form: Any) -> Callable[[], Pair]:
    return lambda: (
        lambda x: reference.gelu(x, form),
        lambda x: reference.gelu_backward(x, np.ones_like(x), form),
    )


def _silu() -> Pair:
    return reference.silu, lambda x: reference.silu_backward(x, np.ones_like(x))


def _of_mistaken(forward: Decision, *left_out: str) -> tuple[Option, ...]:
    """Return the derivatives of an activation's mistakes, as automatic differentiation passes them on."""
    return tuple(
        mistake(option.slug, _pair(option.apply), option.name, option.meaning)
        for option in forward.options
        if option.status == "mistake" and option.name not in left_out
    )


def _pair(function: Function) -> Callable[[], Pair]:
    return lambda: (function, _slope(function))


_OTHER = "gelu_backward_of_other_form"
GELU_DERIVATIVE = Decision(
    "form",
    "Which form of GELU is differentiated?",
    (
        standard("erf", _gelu("erf"), _OTHER),
        convention("tanh", _gelu("tanh"), _OTHER),
        convention("sigmoid", _gelu("sigmoid"), _OTHER),
        *_of_mistaken(GELU_FORM),
    ),
    convention="gelu_form",
)
SILU_DERIVATIVE = Decision(
    "gate",
    "Which activation is differentiated?",
    # A softmax has no derivative entry by entry.
    (standard("logistic", _silu), *_of_mistaken(SILU_GATE, "silu_softmax_for_sigmoid", "softmax_over_positions")),
)

PLACE = Decision(
    "place",
    "Where is the derivative taken?",
    (
        standard("input", lambda x, function: x),
        mistake("gelu_backward_at_output", lambda x, function: function(x)),
        neighbour("negative_input", lambda x, function: -x, "the derivative is taken at −x"),
    ),
)

_NEAR_ZERO = 2.0**-14


@dataclass(frozen=True)
class Rule:
    """The parts of the product rule: f′, the gate g, its slope g′ and x."""

    derivative: Array
    gate: Array
    slope: Array
    x: Array

    @classmethod
    def of(cls, pair: Pair, x: Array) -> Rule:
        """Return the parts at x; g′ = (f′ − g)/x is even, so that it hardly changes near zero."""
        function, derived = pair
        away = np.where(np.abs(x) < _NEAR_ZERO, _NEAR_ZERO, x)
        slope = (derived(away) - quotient(function(away), away)) / away
        return cls(derived(x), quotient(function(x), x), slope, x)


Terms = Callable[[Rule], Array]


def _terms(*of_its_own: Option) -> Decision:
    """Return the decision about the product rule, with mistakes that only one activation has."""
    return Decision("terms", "Which terms of the product rule are added?", (*_COMMON, *of_its_own))


_COMMON = (
    standard("both", lambda of: of.derivative),
    mistake("activation_gate_detached", lambda of: of.gate),
    mistake("activation_gradient_of_gate_alone", lambda of: of.derivative - of.gate),
    mistake("activation_gate_slope_lacks_x", lambda of: of.gate + of.slope),
    mistake("activation_gate_slope_subtracted", lambda of: 2.0 * of.gate - of.derivative),
    mistake("gelu_backward_divides_by_x", lambda of: np.where(of.x == 0.0, np.nan, of.derivative)),
    mistake("activation_gate_slope_doubled", lambda of: 2.0 * of.derivative - of.gate),
    mistake("activation_backward_of_logistic", lambda of: of.slope),
    neighbour("half_slope", lambda of: (of.derivative + of.gate) / 2.0, "the gate's slope has a factor of 1/2"),
)


def _of_density(density: Function) -> Terms:
    return lambda of: of.gate + of.x * density(of.x)


def _of_tanh(slope: Function) -> Terms:
    """Return the terms of the tanh form with another derivative of its argument z."""
    return lambda of: of.gate + of.x * of.gate * (1.0 - of.gate) * np.sqrt(8.0 / np.pi) * slope(of.x)


_ROOT = np.sqrt(2.0 * np.pi)
GELU_TERMS = _terms(
    mistake("gelu_density_without_half", _of_density(lambda x: np.exp(-np.square(x)) / _ROOT)),
    mistake("gelu_density_unnormalised", _of_density(lambda x: np.exp(-0.5 * np.square(x)))),
    mistake("gelu_tanh_slope_lacks_cubic", _of_tanh(np.ones_like)),
    mistake("gelu_tanh_slope_lacks_three", _of_tanh(lambda x: 1.0 + 0.044715 * np.square(x))),
    mistake("gelu_tanh_slope_not_squared", lambda of: of.gate + (of.derivative - of.gate) / (2.0 * of.gate)),
)
SILU_TERMS = _terms(
    mistake("silu_backward_gate_for_complement", lambda of: of.gate + of.x * np.square(of.gate)),
)


PASSED = Decision(
    "passed",
    "What is the derivative multiplied by?",
    (
        standard("grad_output", lambda derivative, grad_output: derivative * grad_output),
        mistake("gradient_cut_off", lambda derivative, grad_output: np.zeros_like(derivative)),
        mistake("gradient_passed_unchanged", lambda derivative, grad_output: grad_output),
        mistake("activation_backward_ignores_grad_output", lambda derivative, grad_output: derivative),
        mistake(
            "softmax_backward_times_output_gradient_again", lambda derivative, grad_output: derivative * grad_output**2
        ),
        mistake("activation_backward_negated", lambda derivative, grad_output: -derivative * grad_output),
        neighbour("twice", lambda derivative, grad_output: 2.0 * derivative * grad_output, "the gradient is doubled"),
        neighbour("half", lambda derivative, grad_output: 0.5 * derivative * grad_output, "the gradient is halved"),
        mistake(
            "activation_backward_of_relu", lambda derivative, grad_output: np.where(derivative > 0.5, grad_output, 0.0)
        ),
    ),
)


def _where_exponential_is_finite(computed_in: str, sign: float) -> Callable[[Array, Array, str], Array]:
    """Return the gradient, and not a number where e^(sign · x) is infinite in a dtype."""

    def apply(result: Array, x: Array, dtype: str) -> Array:
        return np.where(np.isinf(in_range(np.exp(sign * x), computed_in or dtype)), np.nan, result)

    return apply


_NAN = "silu_backward_nan_far_from_zero"
QUOTIENT = Decision(
    "quotient",
    "How is the logistic function computed?",
    (
        standard("finite", lambda result, x, dtype: result),
        mistake(_NAN, _where_exponential_is_finite("", -1.0)),
        mistake(_NAN, _where_exponential_is_finite("float32", -1.0), "overflows_in_float32"),
        mistake("sigmoid_overflows", _where_exponential_is_finite("", 1.0)),
        mistake("sigmoid_overflows", _where_exponential_is_finite("float32", 1.0), "positive_overflows_in_float32"),
    ),
)


def _gradient(arguments: Arguments, point: Point, pair: Pair) -> Array:
    given, gradient = (np.asarray(arguments[name], dtype=np.float64) for name in ("x", "grad_output"))
    x = point["place"](point["grid"](given), pair[0])
    return np.asarray(point["passed"](point["terms"](Rule.of(pair, x)), gradient))


def gelu_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradient of GELU at a point of the family, of the shape of x."""
    result = _gradient(arguments, point, point["form"]())
    return np.asarray(point["written"](result, np.asarray(arguments["x"], dtype=np.float64)))


def silu_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradient of SiLU at a point of the family, of the shape of x."""
    x = np.asarray(arguments["x"], dtype=np.float64)
    result = _gradient(arguments, point, point["gate"]())
    finite = point["quotient"](result, x, arguments.get("dtype", "float64"))
    return np.asarray(point["written"](finite, x))


GELU_BACKWARD = Family("gelu_backward", (GRID, GELU_DERIVATIVE, PLACE, GELU_TERMS, PASSED, WRITTEN), gelu_backward)
SILU_BACKWARD = Family(
    "silu_backward",
    (GRID, SILU_DERIVATIVE, PLACE, SILU_TERMS, PASSED, QUOTIENT, WRITTEN),
    silu_backward,
    needs_dtype=True,
)
