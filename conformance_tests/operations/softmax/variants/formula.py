"""The family of softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.variants.precision import NUMBERS
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

Axes = tuple[int, ...] | None
_POSITIONS: Axes = (-2,)
_SAMPLE: Axes = (-2, -1)

EXPONENT = Decision(
    "exponent",
    "What is exponentiated?",
    (
        standard("logits", lambda x: x),
        mistake("", lambda x: -x, "negated", "e^(−x) instead of e^x: a softmin"),
        mistake("lse_base2_vs_e", lambda x: x * np.log(2.0), "powers_of_two"),
        mistake("", lambda x: x / np.sqrt(x.shape[-1]), "scaled", "the logits are divided by the root of the width"),
        mistake(
            "", lambda x: x / 2, "halved", "the logits are halved, as where a temperature of one half has no effect"
        ),
        mistake(
            "",
            lambda x: x / 4,
            "quartered",
            "the logits are a quarter of what they are, as where a temperature of one half multiplies them",
        ),
    ),
)


def _over(axes: Axes) -> Any:
    """Return the softmax over several axes together."""

    def apply(x: Array) -> Array:
        exponentials = np.exp(x - x.max(axis=axes, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=axes, keepdims=True))

    return apply


def _divided_by(total: Any) -> Any:
    """Return e^(x − max x), the maximum that of each row, over what `total` makes of it."""

    def apply(x: Array) -> Array:
        exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
        return np.asarray(exponentials / total(exponentials))

    return apply


def _sum(axes: Axes) -> Any:
    return _divided_by(lambda exponentials: exponentials.sum(axis=axes, keepdims=True))


def _with_a_zero_logit(x: Array) -> Array:
    return reference.softmax(np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1))[..., :-1]


_WRONG_AXIS = "softmax_wrong_axis"
NORMALISATION = Decision(
    "normalisation",
    "Which exponentials sum to one?",
    (
        standard("each_row", reference.softmax),
        mistake(_WRONG_AXIS, _over(_POSITIONS), "over_positions"),
        mistake(_WRONG_AXIS, _over((0,)), "over_the_batch"),
        mistake(_WRONG_AXIS, _over(_SAMPLE), "over_each_sample"),
        mistake(_WRONG_AXIS, _over(None), "over_everything"),
        mistake(_WRONG_AXIS, _sum(_POSITIONS), "summed_over_positions"),
        mistake(_WRONG_AXIS, _sum((0,)), "summed_over_the_batch"),
        mistake(_WRONG_AXIS, _sum(_SAMPLE), "summed_over_each_sample"),
        mistake(_WRONG_AXIS, _sum(None), "summed_over_everything"),
        mistake("normaliser_with_one_more", _with_a_zero_logit),
        mistake(
            "normaliser_with_one_more",
            _divided_by(lambda exponentials: 1.0 + exponentials.sum(axis=-1, keepdims=True)),
            "one_more_after_the_maximum",
        ),
        mistake(
            "",
            _divided_by(lambda exponentials: np.linalg.norm(exponentials, axis=-1, keepdims=True)),
            "unit_length",
            "the exponentials are divided by the root of the sum of their squares",
        ),
        mistake(
            "",
            _divided_by(lambda exponentials: exponentials.mean(axis=-1, keepdims=True)),
            "mean_of_one",
            "the exponentials are divided by their mean, not by their sum",
        ),
        mistake("", _divided_by(lambda exponentials: 1.0), "unnormalised", "the exponentials are not divided"),
    ),
)

RESULT = Decision(
    "result",
    "What is returned?",
    (
        standard("weights", lambda weights: weights),
        mistake("log_softmax_returned", np.log),
        mistake("", reference.softmax, "softmax_twice", "softmax is applied twice"),
    ),
)


def softmax(arguments: Arguments, point: Point) -> Array:
    """Return softmax at a point of the family, of the shape of x."""
    x = np.asarray(arguments["x"], dtype=np.float64)
    weights = point["numbers"](point["normalisation"], point["exponent"](x), arguments.get("dtype", "float64"))
    result: Array = point["result"](weights)
    return result


SOFTMAX = Family("softmax", (EXPONENT, NUMBERS, NORMALISATION, RESULT), softmax, needs_dtype=True)
