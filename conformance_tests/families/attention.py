"""The family of attention: grouped or not, its output or its weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.families.decision import Decision, convention, mistake, standard
from veriformer.conformance_tests.families.family import Arguments, Array, Family, Point

GROUPING = Decision(
    "grouping",
    "Which key/value head does a query head read?",
    (
        standard("repeat_each", lambda heads, table: np.repeat(table, heads // table.shape[1], axis=1)),
        mistake("gqa_head_index_wrong", lambda heads, table: np.tile(table, (1, heads // table.shape[1], 1, 1))),
    ),
)


SCALE = Decision(
    "scale",
    "By what are the inner products multiplied where no scale is given?",
    (
        standard("inverse_root_of_width", lambda query, value: 1.0 / math.sqrt(query.shape[-1])),
        mistake("scale_missing", lambda query, value: 1.0),
        mistake("scale_by_d_model_not_head_dim", lambda query, value: (query.shape[-1] * query.shape[1]) ** -0.5),
    ),
)

CAUSAL_ALIGNMENT = Decision(
    "causal_alignment",
    "Which keys does the causal flag show when L ≠ S?",
    (
        standard("top_left", lambda queries, keys: 0),
        convention("bottom_right", lambda queries, keys: keys - queries, "causal_top_left_vs_bottom_right"),
    ),
    convention="causal_alignment",
)

CAUSAL_DIAGONAL = Decision(
    "causal_diagonal",
    "Which of the keys around its own position does a query see under the causal flag?",
    (
        standard("own_position_last", lambda distance: distance >= 0),
        mistake("causal_diagonal_off_by_one", lambda distance: distance >= -1),
        mistake("causal_mask_excludes_self", lambda distance: distance > 0),
        mistake("causal_mask_transposed", lambda distance: distance <= 0),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the output, or without values the weights, of attention at a point of the family."""
    query, value = arguments["query"], arguments.get("value")
    heads = query.shape[1]
    key = point["grouping"](heads, arguments["key"])
    value = None if value is None else point["grouping"](heads, value)
    scale = arguments.get("scale")
    scale = point["scale"](query, value) if scale is None else scale
    logits = reference.attention_logits(
        query, key, bias=arguments.get("bias"), scale=scale, softcap=arguments.get("softcap")
    )
    visible = _visible(logits.shape, arguments, point)
    empty_row: Any = point.option("empty_row").name
    if arguments.get("sinks") is not None:
        weights = reference.softmax_beside_sinks(logits, visible, arguments["sinks"])
        return weights if value is None else reference.weighted_sum(weights, value, visible)
    weights = reference.masked_softmax(logits, visible, empty_row)
    if value is None:
        return weights
    empty = ~visible.any(axis=-1, keepdims=True)
    if empty_row == "mean_of_values":
        return reference.weighted_sum(weights, value, visible | empty)
    return np.where(empty, 0.0 if empty_row == "zeros" else np.nan, reference.weighted_sum(weights, value, visible))


def _visible(shape: tuple[int, ...], arguments: Arguments, point: Point) -> Array:
    queries, keys = shape[-2:]
    visible = np.ones(shape, dtype=bool)
    if arguments.get("mask") is not None:
        visible &= arguments["mask"]
    if arguments.get("bias") is not None:
        visible &= arguments["bias"] != -np.inf
    own = np.arange(queries)[:, None] + point["causal_alignment"](queries, keys)
    if arguments.get("is_causal"):
        visible &= point["causal_diagonal"](own - np.arange(keys))
    if arguments.get("window") is not None:
        counting: Any = point.option("window_counting").name
        visible &= reference.within_window(own[:, 0], np.arange(keys), arguments["window"], counting)
    return visible


def _value_of_convention(*_: Any) -> None:
    """Stand where the name of the option is all that matters."""


EMPTY_ROW = Decision(
    "empty_row",
    "What is the output of a query that may see no key?",
    (
        standard("zeros", _value_of_convention),
        convention("nan", _value_of_convention, "fully_masked_row_nan"),
        convention("mean_of_values", _value_of_convention),
    ),
    convention="empty_row",
)
WINDOW_COUNTING = Decision(
    "window_counting",
    "How many keys does a sliding window of w show to the left?",
    (
        standard("inclusive", _value_of_convention),
        convention("exclusive", _value_of_convention, "sliding_window_off_by_one"),
    ),
    convention="window_counting",
)
ATTENTION = Family(
    "attention", (GROUPING, SCALE, CAUSAL_ALIGNMENT, CAUSAL_DIAGONAL, EMPTY_ROW, WINDOW_COUNTING), compute
)
