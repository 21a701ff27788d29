"""Softmax in narrow dtypes: without subtracting the maximum, rounded, or with a narrow sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.variants.decision import Decision, Option, mistake, standard
from veriformer.conformance_tests.variants.precision import HALVES, in_range

Softmax = Callable[[Array, str], Array]
# Of the softmax in wide numbers, the logits and the dtype of the call.
InNumbers = Callable[[Callable[[Array], Array], Array, str], Array]


def _not_shifted(computed_in: str) -> Softmax:
    """Return e^x / Σ e^x, where numbers leave the range of a dtype."""

    def softmax(x: Array, dtype: str) -> Array:
        exponentials = in_range(np.exp(x), computed_in or dtype)
        return np.asarray(exponentials / in_range(exponentials.sum(axis=-1, keepdims=True), computed_in or dtype))

    return softmax


def _exponentials(x: Array) -> Array:
    return np.asarray(np.exp(x - x.max(axis=-1, keepdims=True)))


def _rounded_exponentials(half: str) -> Softmax:
    def softmax(x: Array, dtype: str) -> Array:
        shifted = round_to_dtype(x - x.max(axis=-1, keepdims=True), half)
        exponentials = round_to_dtype(np.exp(shifted), half)
        return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))

    return softmax


def _rounded_on_the_way(half: str) -> Softmax:
    """Return the softmax of a program that converts logits first and weights last, with float32 in between."""
    return lambda x, dtype: _rounded_twice(reference.softmax(round_to_dtype(x, half)), "float32", half)


def _rounded_twice(numbers: Array, first: str, half: str) -> Array:
    """Return numbers rounded to the dtype that they are computed in, then to 16 bits.

    A number near the middle between two numbers of 16 bits may be that middle after the first rounding.
    """
    return round_to_dtype(round_to_dtype(numbers, first), half)


def _rounded_throughout(half: str) -> Softmax:
    def softmax(x: Array, dtype: str) -> Array:
        logits = round_to_dtype(x, half)
        shifted = round_to_dtype(logits - logits.max(axis=-1, keepdims=True), half)
        exponentials = round_to_dtype(np.exp(shifted), half)
        total = round_to_dtype(exponentials.sum(axis=-1, keepdims=True), half)
        return round_to_dtype(exponentials / total, half)

    return softmax


def _weights_rounded(half: str) -> Softmax:
    def softmax(x: Array, dtype: str) -> Array:
        return _rounded_twice(reference.softmax(x), "float64" if dtype == "float64" else "float32", half)

    return softmax


def _total_rounded(half: str) -> Softmax:
    """Return softmax whose sum alone is rounded, after it was added up in wide numbers."""

    def softmax(x: Array, dtype: str) -> Array:
        exponentials = _exponentials(x)
        return np.asarray(exponentials / round_to_dtype(exponentials.sum(axis=-1, keepdims=True), half))

    return softmax


def _sum_rounded_once(half: str) -> Softmax:
    def softmax(x: Array, dtype: str) -> Array:
        exponentials = _exponentials(x)
        total = round_to_dtype(exponentials, half).sum(axis=-1, keepdims=True)
        return np.asarray(exponentials / round_to_dtype(total, half))

    return softmax


def _sum_rounded_each_time(half: str) -> Softmax:
    """Return softmax whose sum of exponentials stops growing at 2048 in float16, at 256 in bfloat16."""

    def softmax(x: Array, dtype: str) -> Array:
        exponentials = _exponentials(x)
        total = np.zeros(x.shape[:-1])
        for summand in np.moveaxis(exponentials, -1, 0):
            total = round_to_dtype(total + summand, half)
        return np.asarray(exponentials / total[..., None])

    return softmax


def _instead(softmax: Softmax) -> InNumbers:
    return lambda exact, x, dtype: softmax(x, dtype)


def _options() -> Iterator[Option]:
    slug = "softmax_no_max_subtraction"
    for dtype in ("", "float32"):
        yield mistake(slug, _instead(_not_shifted(dtype)), f"not_shifted{dtype and '_in_'}{dtype}")
    for half in HALVES:
        slug = "softmax_low_precision"
        yield mistake(slug, _instead(_rounded_exponentials(half)), f"exponentials_in_{half}")
        yield mistake(slug, _instead(_rounded_on_the_way(half)), f"in_and_out_in_{half}")
        yield mistake(slug, _instead(_rounded_throughout(half)), f"throughout_in_{half}")
        yield mistake(slug, _instead(_weights_rounded(half)), f"weights_in_{half}")
        slug = "softmax_sum_low_precision_accumulator"
        yield mistake(slug, _instead(_total_rounded(half)), f"total_rounded_to_{half}")
        yield mistake(slug, _instead(_sum_rounded_once(half)), f"sum_rounded_to_{half}")
        yield mistake(slug, _instead(_sum_rounded_each_time(half)), f"summed_in_{half}")


NUMBERS = Decision(
    "numbers",
    "In which numbers are the weights computed?",
    (standard("wide_enough", lambda exact, x, dtype: exact(x)), *_options()),
)
