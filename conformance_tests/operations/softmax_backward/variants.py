"""The family of the gradient of softmax."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.variants.formula import SOFTMAX
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.elementwise import WRITTEN
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

# Of the weights and the gradients of the weights.
RowTerm = Callable[[Array, Array], Array]


def _summed(of: RowTerm, axis: int = -1) -> RowTerm:
    return lambda weights, gradient: np.asarray(of(weights, gradient).sum(axis=axis, keepdims=True))


ROW_TERM = Decision(
    "row_term",
    "What is subtracted from the gradient of each weight?",
    (
        standard("average_by_weights", _summed(lambda weights, gradient: weights * gradient)),
        mistake("softmax_row_term_forgotten", lambda weights, gradient: np.zeros_like(gradient)),
        mistake("softmax_row_term_over_queries", _summed(lambda weights, gradient: weights * gradient, axis=-2)),
        mistake("softmax_row_term_not_weighted", lambda weights, gradient: gradient.mean(axis=-1, keepdims=True)),
        mistake(
            "softmax_row_term_not_weighted",
            _summed(lambda weights, gradient: gradient),
            "softmax_row_term_not_weighted_sum",
        ),
        mistake("softmax_backward_only_diagonal", lambda weights, gradient: weights * gradient),
        mistake("softmax_row_term_a_mean", lambda weights, gradient: (weights * gradient).mean(axis=-1, keepdims=True)),
        mistake("softmax_row_term_added", lambda weights, gradient: -(weights * gradient).sum(axis=-1, keepdims=True)),
        mistake(
            "samples_mixed_in_backward", lambda weights, gradient: (weights * gradient).sum(keepdims=True), "everything"
        ),
    ),
)

FACTOR = Decision(
    "factor",
    "By what is the difference multiplied?",
    (
        standard("weights", lambda weights, difference: weights * difference),
        mistake("softmax_backward_factor_two", lambda weights, difference: 2.0 * weights * difference),
        neighbour("none", lambda weights, difference: difference, "dO − Σ p dO is not multiplied by the weights"),
        neighbour("opposite", lambda weights, difference: -weights * difference, "the gradient has the opposite sign"),
    ),
)

WEIGHTS = Decision(
    "weights",
    "Which weights does the backward pass use?",
    (
        standard("those_of_the_logits", lambda x, weights: weights),
        mistake("softmax_backward_takes_logits", lambda x, weights: x),
        mistake("softmax_backward_takes_logits", lambda x, weights: reference.softmax(weights), "softmax_of_weights"),
    ),
)

PASSED = Decision(
    "passed",
    "Does the gradient pass the softmax?",
    (
        standard("yes", lambda gradient, given, weights: gradient),
        mistake("gradient_passed_unchanged", lambda gradient, given, weights: given),
        mistake("gradient_cut_off", lambda gradient, given, weights: np.zeros_like(gradient)),
        mistake("softmax_backward_times_output_gradient_again", lambda gradient, given, weights: gradient * given),
        mistake(
            "softmax_backward_of_logarithm",
            lambda gradient, given, weights: given - weights * given.sum(axis=-1, keepdims=True),
        ),
        mistake("log_softmax_backward_adds_probability", lambda gradient, given, weights: given + weights),
    ),
)


def softmax_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradient of softmax at a point of the family, of the shape of x."""
    x, gradient = (np.asarray(arguments[name], dtype=np.float64) for name in ("x", "grad_output"))
    weights = point["weights"](x, point.part("forward").result(arguments))
    difference = gradient - point["row_term"](weights, gradient)
    result = point["passed"](point["factor"](weights, difference), gradient, weights)
    return np.asarray(point["written"](result, gradient))


def _of_forward() -> Family:
    """Return the family of softmax without what has no gradient of its own."""
    return SOFTMAX.without("result")


SOFTMAX_BACKWARD = Family(
    "softmax_backward",
    (WEIGHTS, ROW_TERM, FACTOR, PASSED, WRITTEN),
    softmax_backward,
    parts={"forward": _of_forward()},
    needs_dtype=True,
)
