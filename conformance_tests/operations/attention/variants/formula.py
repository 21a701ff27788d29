"""The family of attention: grouped or not, its output or its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.variants import logits as of_logits
from veriformer.conformance_tests.operations.attention.variants.bias import BIAS, BIAS_HEEDED
from veriformer.conformance_tests.operations.attention.variants.blocks import (
    BLOCK_PLACES,
    BLOCK_SCALE,
    BLOCK_SUMS,
    BLOCKS,
)
from veriformer.conformance_tests.operations.attention.variants.causality import (
    CAUSAL_ALIGNMENT,
    CAUSAL_BESIDE_MASK,
    CAUSAL_DIAGONAL,
    CAUSAL_USE,
    CAUSAL_WHEN,
    WINDOW,
    WINDOW_COUNTING,
)
from veriformer.conformance_tests.operations.attention.variants.masks import MASK_HEEDED, MASK_READING, MASK_USE, Scores
from veriformer.conformance_tests.operations.attention.variants.precision import HIDDEN_IN_HALF, PRODUCTS
from veriformer.conformance_tests.operations.attention.variants.softmax import (
    EMPTY_ROW,
    OUTPUT,
    SINKS,
    SOFTMAX,
    BesideSinks,
)
from veriformer.conformance_tests.variants.family import Arguments, Family, NotDefined, Point


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the output, or without values the weights, of attention at a point of the family."""
    arguments = point["causal_beside_mask"](arguments)
    query, key, value = point["operands"](arguments["query"], arguments["key"], arguments.get("value"))
    group = query.shape[1] // key.shape[1]
    query = point["query_heads"](query, key.shape[1])
    key, value = point["grouping"](query.shape[1], key, value)
    factor = point["scale"](arguments.get("scale"), query, key)
    scores = masked(_scored(query, key, factor, arguments, point), arguments, point)
    scores = _capped_after_mask(scores, arguments, point)
    scores = point["hidden_in_half"](scores, arguments.get("dtype", "float64"))
    sinks, dtype = arguments.get("sinks"), arguments.get("dtype", "float64")
    if sinks is not None:
        sinks = BesideSinks(
            scores.logits,
            scores.visible,
            sinks,
            factor,
            lambda logits: _capped(logits, arguments, point),
            group,
            lambda logits, visible: point["softmax"](logits, visible, "zeros", dtype),
        )
    return _averaged(scores, value, sinks, dtype, point)


def _scored(query: Array, key: Array, factor: float, arguments: Arguments, point: Point) -> Scores:
    """Return the logits, in which the bias hides keys by −∞."""
    query, key = point["similarity"](query, key)
    key = point["block_scale"](key)
    bias = arguments.get("bias")
    bias = None if bias is None else point["bias_heeded"](bias, arguments)
    dtype = arguments.get("dtype", "float64")
    steps = of_logits.Steps(
        lambda factor: point["products"](query, key, factor),
        lambda logits: _capped(logits, arguments, point),
        lambda logits: logits if bias is None else point["bias"](logits, bias, dtype),
        factor,
    )
    logits = point["order_of_steps"](steps)
    return Scores(logits, ~np.isneginf(logits))


def _capped(logits: Array, arguments: Arguments, point: Point) -> Array:
    softcap = arguments.get("softcap")
    capped: Array = logits if softcap is None else point["softcap"](logits, softcap)
    return capped


def _capped_after_mask(scores: Scores, arguments: Arguments, point: Point) -> Scores:
    """Return the scores unchanged, or capped last if the order of steps says so: nothing is hidden then."""
    late = point.option("order_of_steps").name in of_logits.CAPPED_AFTER_MASK
    if not late or not arguments.get("softcap"):
        return scores
    capped = _capped(np.where(scores.visible, scores.logits, -np.inf), arguments, point)
    return Scores(capped, np.ones(capped.shape, dtype=bool), scores.gate)


def masked(scores: Scores, arguments: Arguments, point: Point) -> Scores:
    """Return scores after mask, causal flag and window, at a point that has their decisions."""
    shape = scores.logits.shape
    mask = arguments.get("mask")
    mask = None if mask is None else point["mask_heeded"](mask, arguments, shape)
    if mask is not None:
        scores = point["mask_use"](scores, point["mask_reading"](mask, shape))
    queries, keys = shape[-2:]
    own = np.arange(queries) + point["causal_alignment"](queries, keys)
    places = point["block_places"](keys)
    if point["causal_when"](arguments, queries, keys):
        scores = point["causal_use"](scores, point["causal_diagonal"](own[:, None] - places))
    window = arguments.get("window")
    if window is not None:
        shown = point["window"](own, keys, window, point.option("window_counting").name)
        scores = scores.showing(shown[:, places])
    seen: Scores = point["blocks"](scores)
    return seen


def seen_at(arguments: Arguments, point: Point) -> Array:
    """Return which keys each query sees at a point, (B, H, L, S); NotDefined if it would not run."""
    arguments = point["causal_beside_mask"](arguments)
    query, key = arguments["query"], arguments["key"]
    shape = (*query.shape[:3], key.shape[2])
    return masked(Scores(np.zeros(shape), np.ones(shape, dtype=bool)), arguments, point).visible


def _averaged(scores: Scores, value: Array | None, sinks: BesideSinks | None, dtype: str, point: Point) -> Array:
    empty_row: Any = point.option("empty_row").name
    sums = point["block_sums"]()
    of_blocks = sums.weights or sums.output
    usual = point.option("softmax").name == "over_keys" and of_blocks is None
    if of_blocks is not None and sinks is not None:
        # Kernels begin or end with the sink, and mistakes of the blocks reach it in one case only.
        raise NotDefined
    if sums.output is not None:
        # The weights are the average of unit vectors.
        averaged = np.eye(scores.logits.shape[-1]) if value is None else value
        return np.asarray(sums.output(scores.logits, scores.visible, averaged, dtype))
    softmax = sums.weights or point["softmax"]
    shown = scores.logits, scores.visible
    weights = softmax(*shown, empty_row, dtype) if sinks is None else point["sinks"](sinks)
    weights = weights if scores.gate is None else weights * scores.gate
    if value is None:
        return np.asarray(weights)
    empty = ~scores.visible.any(axis=-1, keepdims=True)
    included = scores.visible
    if sinks is not None or not usual:
        included = scores.visible | (weights != 0)
    elif empty_row == "mean_of_values":
        included = included | empty
    output = reference.weighted_sum(weights, value, included)
    if usual and sinks is None and empty_row != "mean_of_values":
        output = np.where(empty, 0.0 if empty_row == "zeros" else np.nan, output)
    return np.asarray(point["output"](output, weights, value))


ATTENTION = Family(
    "attention",
    (
        of_logits.OPERANDS,
        of_logits.QUERY_HEADS,
        of_logits.GROUPING,
        of_logits.SIMILARITY,
        BLOCK_SCALE,
        BLOCK_PLACES,
        BLOCKS,
        BLOCK_SUMS,
        of_logits.SCALE,
        PRODUCTS,
        of_logits.SOFTCAP,
        BIAS_HEEDED,
        BIAS,
        of_logits.ORDER_OF_STEPS,
        MASK_HEEDED,
        MASK_READING,
        MASK_USE,
        CAUSAL_BESIDE_MASK,
        CAUSAL_WHEN,
        CAUSAL_ALIGNMENT,
        CAUSAL_DIAGONAL,
        CAUSAL_USE,
        WINDOW_COUNTING,
        WINDOW,
        SOFTMAX,
        EMPTY_ROW,
        HIDDEN_IN_HALF,
        SINKS,
        OUTPUT,
    ),
    compute,
    needs_dtype=True,
)
