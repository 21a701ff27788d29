"""The family of merging two parts of an attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point
from veriformer.conformance_tests.variants.precision import in_range

EXPONENTIAL = Decision(
    "exponential",
    "How does a part's logarithm become its weight?",
    (
        standard("of_e", np.exp),
        mistake("lse_base2_vs_e", np.exp2, "of_two"),
        neighbour("none", lambda shifted: shifted, "the logarithms themselves are the weights"),
        neighbour("equal", np.ones_like, "both parts weigh the same, whatever their logarithms"),
    ),
)

LOGARITHM = Decision(
    "logarithm",
    "Which logarithm of the summed weights is returned?",
    (
        standard("of_e", np.log),
        mistake("lse_base2_vs_e", np.log2, "of_two"),
        neighbour("none", np.zeros_like, "the larger logarithm is returned, without that of the summed weights"),
        neighbour("of_one_more", np.log1p, "1 is added to the summed weights before their logarithm is taken"),
    ),
)

SHIFT = Decision(
    "shift",
    "What is subtracted from the logarithms before they are raised to powers?",
    (
        standard("larger_or_zero", lambda highest: np.where(np.isneginf(highest), 0.0, highest)),
        mistake("merge_empty_partitions_nan", lambda highest: highest),
    ),
)

SHIFT_BACK = Decision(
    "shift_back",
    "What is added to the logarithm of the summed weights?",
    (
        standard("the_shift", lambda highest, width: highest),
        mistake("lse_offset_wrong_for_merge", lambda highest, width: 0.0 * highest, "nothing"),
        mistake("lse_offset_wrong_for_merge", lambda highest, width: -highest, "opposite"),
        mistake("splitkv_lse_scaled_twice", lambda highest, width: highest * width**-0.5),
    ),
)


# The shares of the two outputs, from their weights and the sum of these.
Shares = Callable[[Array, Array, Array], tuple[Array, Array]]


def _shares(change: Callable[[Array, Array], tuple[Array, Array]]) -> Shares:
    def shares(weight_a: Array, weight_b: Array, total: Array) -> tuple[Array, Array]:
        divisor = np.where(total == 0.0, 1.0, total)
        return change(weight_a / divisor, weight_b / divisor)

    return shares


def _of_larger(weight_a: Array, weight_b: Array, _: Array) -> tuple[Array, Array]:
    return (weight_a >= weight_b).astype(float), (weight_a < weight_b).astype(float)


SHARES = Decision(
    "shares",
    "With which shares do the two outputs count?",
    (
        standard("weights_over_their_sum", _shares(lambda a, b: (a, b))),
        mistake("merge_not_normalised", lambda a, b, _: (a, b)),
        mistake("merge_first_part_wins", _shares(lambda a, b: (a / 2.0, a / 2.0 + b)), "half_of_first_to_second"),
        mistake("merge_first_part_wins", _shares(lambda a, b: (a, 1.5 * b)), "second_one_and_a_half_times"),
        neighbour("exchanged", _shares(lambda a, b: (b, a)), "each output counts with the other part's weight"),
        neighbour("of_larger", _of_larger, "the part with the larger logarithm is taken alone"),
    ),
)


@dataclass(frozen=True)
class Weights:
    """The weights of both parts, their sum, what they are divided by, and what their logarithms were shifted by."""

    first: Array
    second: Array
    total: Array
    divisor: Array
    shift: Array | None


def shifted(arguments: Arguments, point: Point) -> Weights:
    """Return the weights e^(lse − max) of the parts."""
    lse_a, lse_b = arguments["lse_a"], arguments["lse_b"]
    highest = point["shift"](np.maximum(lse_a, lse_b))
    first, second = (point["exponential"](lse - highest) for lse in (lse_a, lse_b))
    return Weights(first, second, first + second, first + second, highest)


def not_shifted(computed_in: str, where_nothing: str) -> Callable[[Arguments, Point], Weights]:
    """Return what weighs the parts by e^lse itself, whose numbers leave the range of a dtype.

    `where_nothing` weighs: the output is zero, or 0/0, or both results are not numbers since −∞ was multiplied by 0.
    """

    def weights(arguments: Arguments, point: Point) -> Weights:
        dtype = computed_in or arguments.get("dtype", "float64")
        lse_a, lse_b = arguments["lse_a"], arguments["lse_b"]
        zero = 0.0 * np.maximum(lse_a, lse_b) if where_nothing == "shift_times_zero" else 0.0
        first, second = (in_range(point["exponential"](lse - zero), dtype) for lse in (lse_a, lse_b))
        total = in_range(first + second, dtype)
        divisor = np.where(total == 0.0, np.nan, total) if where_nothing == "divided_by_zero" else total
        return Weights(first, second, total, divisor, None)

    return weights


def _weighed(arguments: Arguments, shares: tuple[Array, Array]) -> Array:
    share_a, share_b = shares
    return np.asarray(share_a[..., None] * arguments["output_a"] + share_b[..., None] * arguments["output_b"])


NUMBERS = Decision(
    "numbers",
    "Do numbers stay in range?",
    (
        standard("shifted", shifted),
        *(
            mistake(
                "softmax_no_max_subtraction",
                not_shifted(dtype, where_nothing),
                f"{where_nothing}{dtype and '_in_'}{dtype}",
            )
            for dtype in ("", "float32", "float64")
            for where_nothing in ("zero", "divided_by_zero", "shift_times_zero")
        ),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return output and logarithm, one after the other, of merging at a point of the family."""
    weights: Weights = point["numbers"](arguments, point)
    output = _weighed(arguments, point["shares"](weights.first, weights.second, weights.divisor))
    lse = point["logarithm"](weights.total)
    if weights.shift is not None:
        lse = point["shift_back"](weights.shift, output.shape[-1]) + lse
    return np.concatenate([output.ravel(), lse.ravel()])


MERGING = Family(
    "merge_attention", (EXPONENTIAL, LOGARITHM, SHIFT, SHIFT_BACK, SHARES, NUMBERS), compute, needs_dtype=True
)
