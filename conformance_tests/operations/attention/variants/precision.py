"""Decisions about attention in sixteen bits: products in another precision, numbers that float16 does not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.variants.masks import Scores
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.precision import HALVES, rounded_to


def _product(query: Array, key: Array, factor: float) -> Array:
    return np.asarray((factor * query) @ key.swapaxes(-1, -2))


def _operands_rounded(dtype: str) -> Callable[[Array, Array, float], Array]:
    return lambda query, key, factor: factor * _product(rounded_to(dtype, query), rounded_to(dtype, key), 1.0)


def _product_rounded(dtype: str) -> Callable[[Array, Array, float], Array]:
    return lambda query, key, factor: (
        factor * rounded_to(dtype, _product(rounded_to(dtype, query), rounded_to(dtype, key), 1.0))
    )


PRODUCTS = Decision(
    "products",
    "In which precision are queries multiplied with keys?",
    (
        standard("their_own", _product),
        *(
            mistake("inner_product_accumulated_in_half", multiplied(dtype), f"{name}_in_{dtype}")
            for dtype in HALVES
            for name, multiplied in (("operands_and_products", _product_rounded), ("operands", _operands_rounded))
        ),
    ),
)


def _in_half(logits_of: Callable[[Array], Array]) -> Callable[[Scores, str], Scores]:
    """Return the function that gives rows without a key other logits in float16, all seen by softmax."""

    def scores_of(scores: Scores, dtype: str) -> Scores:
        empty = ~scores.visible.any(axis=-1, keepdims=True)
        if dtype != "float16" or not empty.any():
            return scores
        return replace(
            scores, logits=np.where(empty, logits_of(scores.logits), scores.logits), visible=scores.visible | empty
        )

    return scores_of


def _beyond_lowest(logits: Array) -> Array:
    return rounded_to("float16", logits + float(np.finfo(np.float16).min))


# What hides keys is a number that other dtypes hold and float16 does not: it is minus infinity there.
HIDDEN_IN_HALF = Decision(
    "hidden_in_half",
    "What becomes of a row without a key in float16?",
    (
        standard("as_elsewhere", lambda scores, _: scores),
        mistake("mask_const_overflows_fp16", _in_half(lambda logits: np.full_like(logits, np.nan))),
        mistake("mask_planes_summed_overflow", _in_half(_beyond_lowest)),
    ),
)
