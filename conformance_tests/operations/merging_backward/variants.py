"""The family of the gradients of merging two parts of an attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.merging.variants import EXPONENTIAL, NUMBERS, SHIFT, Weights
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

_LN2 = float(np.log(2.0))
# What belongs to the first part and to the second.
Pair = tuple[Array, Array]


@dataclass(frozen=True)
class Passed:
    """The shares of both parts, the products of their outputs and of the difference of these with the gradient, and the
    gradient of the logarithm.
    """

    share_a: Array
    share_b: Array
    product_a: Array
    product_b: Array
    apart: Array
    grad_lse: Array
    # Positive where the first part has the larger logarithm.
    lead: Array

    @property
    def moved(self) -> Array:
        """w_a w_b Σ dO (o_a − o_b), what raising the first logarithm moves."""
        return np.asarray(self.share_a * self.share_b * self.apart)

    @property
    def average(self) -> Array:
        """Σ dO o, what goes back by the merged logarithm where the shares are taken relative to it."""
        return np.asarray(self.share_a * self.product_a + self.share_b * self.product_b)


def _samples_mixed(output: Array) -> Array:
    return np.broadcast_to(output.mean(axis=0, keepdims=True), output.shape)


PRODUCT = Decision(
    "product",
    "How is an output multiplied by its gradient?",
    (
        standard("sum_over_components", lambda gradient, output: (gradient * output).sum(axis=-1)),
        mistake("merge_backward_mean_over_width", lambda gradient, output: (gradient * output).mean(axis=-1)),
        mistake(
            "samples_mixed_in_backward",
            lambda gradient, output: (gradient * _samples_mixed(output)).sum(axis=-1),
            "with_mean_of_samples",
        ),
        neighbour(
            "first_component", lambda gradient, output: gradient[..., 0] * output[..., 0], "one component counts"
        ),
        neighbour(
            "over_root_of_width",
            lambda gradient, output: (gradient * output).sum(axis=-1) / output.shape[-1] ** 0.5,
            "the product of an output with its gradient is divided by the root of the width",
        ),
    ),
)

OF_OUTPUTS = Decision(
    "of_outputs",
    "By what is the gradient of the merged output multiplied for each part?",
    (
        standard("shares", lambda a, b: (a, b)),
        mistake("merge_backward_weights_exchanged", lambda a, b: (b, a)),
        mistake("merge_backward_weight_squared", lambda a, b: (a * a, b), "of_first"),
        mistake("merge_backward_weight_squared", lambda a, b: (a, b * b), "of_second"),
        mistake("merge_backward_weight_squared", lambda a, b: (a * a, b * b), "of_both"),
        mistake("gradient_passed_unchanged", lambda a, b: (np.ones_like(a), b), "to_first"),
        mistake("gradient_passed_unchanged", lambda a, b: (a, np.ones_like(b)), "to_second"),
        mistake("gradient_passed_unchanged", lambda a, b: (np.ones_like(a), np.ones_like(b)), "to_both"),
        mistake("merge_backward_into_first_part", lambda a, b: (a + b, 0.0 * b)),
        mistake("merge_backward_into_first_part", lambda a, b: (0.0 * a, a + b), "merge_backward_into_second_part"),
        mistake("gradient_cut_off", lambda a, b: (0.0 * a, b), "none_to_first"),
        mistake("gradient_cut_off", lambda a, b: (a, 0.0 * b), "none_to_second"),
        neighbour("halves", lambda a, b: (a / 2.0, b / 2.0), "each output gets half of its gradient"),
    ),
)


def _both(of: Callable[[Passed], Array]) -> Callable[[Passed], Pair]:
    """Return what the first part gets by the weights, and its opposite for the second."""
    return lambda passed: (of(passed), -of(passed))


BY_WEIGHTS = Decision(
    "by_weights",
    "What reaches the logarithms by the weights of the parts?",
    (
        standard("product_of_shares", _both(lambda passed: passed.moved)),
        mistake("merge_backward_weights_detached", _both(lambda passed: np.zeros_like(passed.moved))),
        mistake(
            "softmax_row_term_forgotten",
            lambda passed: (passed.share_a * passed.product_a, -passed.moved),
            "row_term_forgotten_of_first",
        ),
        mistake(
            "softmax_row_term_forgotten",
            lambda passed: (passed.moved, passed.share_b * passed.product_b),
            "row_term_forgotten_of_second",
        ),
        mistake(
            "softmax_row_term_forgotten",
            lambda passed: (passed.share_a * passed.product_a, passed.share_b * passed.product_b),
            "row_term_forgotten_of_both",
        ),
        mistake(
            "merge_backward_sign_of_log_sum_exp", lambda passed: (passed.moved, passed.moved), "opposite_sign_of_second"
        ),
        mistake(
            "merge_backward_sign_of_log_sum_exp",
            lambda passed: (-passed.moved, -passed.moved),
            "opposite_sign_of_first",
        ),
        mistake("merge_backward_sign_of_log_sum_exp", _both(lambda passed: -passed.moved), "opposite_sign_of_both"),
        mistake(
            "merge_backward_other_weight_forgotten",
            lambda passed: (passed.share_a * passed.apart, -passed.moved),
            "one_weight_of_first",
        ),
        mistake(
            "merge_backward_other_weight_forgotten",
            lambda passed: (passed.moved, passed.share_b * -passed.apart),
            "one_weight_of_second",
        ),
        mistake(
            "merge_backward_other_weight_forgotten",
            lambda passed: (
                passed.share_a * passed.apart,
                passed.share_b * -passed.apart,
            ),
            "one_weight_of_both",
        ),
        mistake("merge_backward_factor_ln_2", _both(lambda passed: _LN2 * passed.moved), "by_weights"),
        neighbour("twice", _both(lambda passed: 2.0 * passed.moved), "what reaches them by the weights counts twice"),
        neighbour(
            "without_shares",
            _both(lambda passed: passed.apart),
            "what reaches them by the weights is not multiplied by these",
        ),
    ),
)


def _to_first_of_equal(gradient: Callable[[Passed], Array]) -> Callable[[Passed], Pair]:
    """Return what the parts get if a gradient of the merged logarithm goes to the first of two equal ones, whole."""

    def shared(passed: Passed) -> Pair:
        lost = np.where(passed.lead == 0.0, passed.share_b * gradient(passed), 0.0)
        return passed.share_a * passed.grad_lse + lost, passed.share_b * passed.grad_lse - lost

    return shared


BY_LOGARITHM = Decision(
    "by_logarithm",
    "What reaches the logarithms by the merged one?",
    (
        standard("shares", lambda passed: (passed.share_a * passed.grad_lse, passed.share_b * passed.grad_lse)),
        mistake("lse_gradient_ignored", lambda passed: (0.0 * passed.grad_lse, 0.0 * passed.grad_lse)),
        mistake("logaddexp_gradient_at_equal_inputs", _to_first_of_equal(lambda passed: passed.grad_lse)),
        mistake(
            "logaddexp_gradient_at_equal_inputs",
            _to_first_of_equal(lambda passed: passed.grad_lse - passed.average),
            "with_that_of_weights",
        ),
        mistake(
            "merge_backward_weights_exchanged",
            lambda passed: (passed.share_b * passed.grad_lse, passed.share_a * passed.grad_lse),
            "exchanged",
        ),
        mistake(
            "merge_backward_weight_squared",
            lambda passed: (passed.share_a**2 * passed.grad_lse, passed.share_b**2 * passed.grad_lse),
            "squared",
        ),
        mistake(
            "merge_backward_factor_ln_2",
            lambda passed: (_LN2 * passed.share_a * passed.grad_lse, _LN2 * passed.share_b * passed.grad_lse),
            "by_logarithm",
        ),
        neighbour("whole", lambda passed: (passed.grad_lse, passed.grad_lse), "each part gets the whole of it"),
        neighbour(
            "to_larger",
            lambda passed: (
                np.where(passed.lead >= 0.0, passed.grad_lse, 0.0),
                np.where(passed.lead < 0.0, passed.grad_lse, 0.0),
            ),
            "the part with the larger logarithm gets all of it",
        ),
    ),
)

LOGARITHMS = Decision(
    "logarithms",
    "What becomes of the gradients of the logarithms?",
    (
        standard("returned", lambda pair: pair),
        mistake("merge_backward_parts_exchanged", lambda pair: (pair[1], pair[0])),
        mistake("merge_backward_factor_ln_2", lambda pair: (_LN2 * pair[0], _LN2 * pair[1]), "of_all"),
        mistake("merge_backward_factor_ln_2", lambda pair: (pair[0] / _LN2, pair[1] / _LN2), "divided"),
        mistake("gradient_cut_off", lambda pair: (0.0 * pair[0], 0.0 * pair[1])),
    ),
)


def _nan(outputs: bool) -> Callable[[Array], Pair]:
    """Return what is added to gradients of outputs and of logarithms where both parts are empty."""
    return lambda empty: (np.where(empty & outputs, np.nan, 0.0), np.where(empty, np.nan, 0.0))


BOTH_EMPTY = Decision(
    "both_empty",
    "What flows back where neither part has keys?",
    (
        standard("zeros", lambda empty: (np.zeros(empty.shape), np.zeros(empty.shape))),
        mistake("logaddexp_gradient_nan_at_minus_infinity", _nan(False)),
        mistake("merge_empty_partitions_nan", _nan(True), "nan_everywhere"),
    ),
)


# What divides by a sum of nothing is NaN as an unguarded shift is: the two look alike wherever numbers stay in range.
_NUMBERS = Decision(
    NUMBERS.name,
    NUMBERS.question,
    tuple(option for option in NUMBERS.options if option.name in ("shifted", "zero", "zero_in_float32")),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the four gradients, one after the other, at a point of the family."""
    weights: Weights = point["numbers"](arguments, point)
    # Nothing is divided by where neither part has keys.
    divisor = np.where(weights.divisor == 0.0, 1.0, weights.divisor)
    share_a, share_b = weights.first / divisor, weights.second / divisor
    gradient, grad_lse = arguments["grad_output"], arguments["grad_lse"]
    lse_a, lse_b = arguments["lse_a"], arguments["lse_b"]
    empty = np.isneginf(lse_a) & np.isneginf(lse_b)
    output_a, output_b = arguments["output_a"], arguments["output_b"]
    product_a, product_b, apart = (point["product"](gradient, one) for one in (output_a, output_b, output_a - output_b))
    with np.errstate(invalid="ignore"):
        lead = np.where(empty, 0.0, lse_a - lse_b)
    passed = Passed(share_a, share_b, product_a, product_b, apart, grad_lse, lead)
    factors = point["of_outputs"](share_a, share_b)
    summed = zip(point["by_weights"](passed), point["by_logarithm"](passed), strict=True)
    logarithms = point["logarithms"](tuple(one + other for one, other in summed))
    to_outputs, to_logarithms = point["both_empty"](empty)
    parts = (
        part
        for factor, logarithm in zip(factors, logarithms, strict=True)
        for part in (factor[..., None] * gradient + to_outputs[..., None], logarithm + to_logarithms)
    )
    return np.concatenate([part.ravel() for part in parts])


MERGING_BACKWARD = Family(
    "merge_attention_backward",
    (EXPONENTIAL, SHIFT, _NUMBERS, PRODUCT, OF_OUTPUTS, BY_WEIGHTS, BY_LOGARITHM, LOGARITHMS, BOTH_EMPTY),
    compute,
    needs_dtype=True,
)
