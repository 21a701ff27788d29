"""The families of the gradients of attention between projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention_backward.variants import ATTENTION_BACKWARD, gradients
from veriformer.conformance_tests.operations.feed_forward_backward.variants import bias_sum, matrix_sum, transposed
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

Three = tuple[Array, Array, Array]

# Of the gradients of queries, keys and values: what x and the context get.
LOST = "projection_backward_one_path_lost"
INTO_CONTEXT = Decision(
    "into_context",
    "Which gradients does the context get?",
    (
        standard("of_keys_and_values", lambda key, value: key + value),
        mistake(LOST, lambda key, value: value, "of_values_alone"),
        mistake(LOST, lambda key, value: key, "of_keys_alone"),
        neighbour("none", lambda key, value: np.zeros_like(key), "the context gets no gradient"),
    ),
)
INTO_SEQUENCE = Decision(
    "into_sequence",
    "Which gradients does the sequence get?",
    (
        standard("of_all_three", lambda query, key, value: query + key + value),
        mistake(LOST, lambda query, key, value: query, "of_queries_alone"),
        mistake(LOST, lambda query, key, value: query + key, "without_values"),
        mistake(LOST, lambda query, key, value: query + value, "without_keys"),
        mistake(LOST, lambda query, key, value: key + value, "without_queries"),
    ),
)
CUT = Decision(
    "cut",
    "Do all projections get a gradient?",
    (
        standard("all", lambda query, key, value: (query, key, value)),
        mistake("network_weights_without_gradient", lambda q, k, v: (np.zeros_like(q), k, v), "no_queries"),
        mistake("network_weights_without_gradient", lambda q, k, v: (q, np.zeros_like(k), v), "no_keys"),
        mistake("network_weights_without_gradient", lambda q, k, v: (q, k, np.zeros_like(v)), "no_values"),
        mistake("projection_gradients_exchanged", lambda q, k, v: (k, q, v) if q.shape == k.shape else (q, k, v)),
        mistake(
            "projection_gradients_exchanged",
            lambda q, k, v: (q, v, k) if v.shape == k.shape else (q, k, v),
            "of_keys_and_values",
        ),
    ),
)
SHARED = Decision(
    "shared_heads",
    "What becomes of the gradients of query heads that share keys and values?",
    (
        standard("added", lambda of_heads: of_heads.sum(axis=2)),
        mistake("gqa_backward_mean_over_group", lambda of_heads: of_heads.mean(axis=2)),
        mistake("gqa_backward_group_not_summed", lambda of_heads: of_heads[:, :, 0]),
        mistake("gqa_backward_group_not_summed", lambda of_heads: of_heads[:, :, -1], "last_of_group"),
    ),
)


def _merged_wrong(heads: Array) -> Array:
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


MERGE = Decision(
    "merge",
    "How do the heads' gradients stand side by side?",
    (
        standard("by_position", reference.merge_heads),
        mistake("heads_gradient_merged_without_transpose", _merged_wrong),
    ),
)
HEADS_GRADIENT = Decision(
    "heads_gradient",
    "How does the gradient reach the heads?",
    (
        *transposed("network_backward_matrix_not_transposed"),
        mistake("gradient_cut_off", lambda matrix: np.zeros_like(matrix.T), "not_into_heads"),
    ),
)
LAST_INPUT = Decision(
    "last_input",
    "From what is the last projection's gradient made?",
    (
        standard("heads", lambda merged, values: merged),
        mistake(
            "last_projection_gradient_of_values",
            lambda merged, values: values if values.shape == merged.shape else merged,
        ),
        mistake("network_weights_without_gradient", lambda merged, values: np.zeros_like(merged), "no_last_projection"),
    ),
)
# What the forward pass of a layer decides is recomputed here with the bias and the soft cap of later years left out.
WITHIN = ATTENTION_BACKWARD.without(
    "softcap",
    "bias",
    "bias_heeded",
    "window",
    "window_counting",
    "sinks",
    "softcap_slope",
    "blocks",
    "block_places",
    "parts_returned=query_and_key_exchanged",
    "parts_returned=key_and_value_exchanged",
    "keys=mean_of_samples",
    "keys=sum_of_samples",
    "queries=mean_of_samples",
    "queries=sum_of_samples",
)


# The gradient of the keys' bias is 0: what is summed wrongly is 0 too, but for sums that are no sums.
_SUM = bias_sum("b_k")
_OF_ONE = ("bias_gradient_not_summed_over_rows", "of_last_vector", "bias_gradient_only_first_axis_summed")
_KEY_BIAS = Decision(
    _SUM.name, _SUM.question, (_SUM.standard, *(option for option in _SUM.options if option.name in _OF_ONE))
)


def _joined(parts: list[Array]) -> Array:
    return np.concatenate([part.ravel() for part in parts])


def _projected(x: Array, matrix: Array, bias: Array | None) -> Array:
    return np.asarray(x @ matrix if bias is None else x @ matrix + bias)


def _attended(arguments: Arguments, heads: list[Array], gradient: Array, point: Point) -> tuple[Three, Array]:
    """Return the gradients of queries, keys and values of each query head, and the heads side by side."""
    optional = {name: arguments[name] for name in ("mask", "is_causal", "dtype") if name in arguments}
    group = heads[0].shape[1] // heads[1].shape[1]
    query, key, value = heads[0], *(np.repeat(one, group, axis=1) for one in heads[1:])
    given = {"query": query, "key": key, "value": value, "grad_output": gradient, **optional}
    obeyed = point.part("attention")["causal_beside_mask"](given)
    visible = reference.visible_keys(
        (*query.shape[:3], key.shape[2]),
        mask=obeyed.get("mask"),
        is_causal=bool(obeyed.get("is_causal")),
        causal_alignment=_alignment(point),
    )
    merged = reference.merge_heads(reference.scaled_dot_product_attention(query, key, value, mask=visible))
    of_query, of_key, of_value = gradients(given, point.part("attention"))
    return (of_query, of_key, of_value), merged


def _alignment(point: Point) -> Any:
    name = point.part("attention").option("causal_alignment").name
    return name if name in ("top_left", "bottom_right") else "top_left"


def _as_it_is(heads: Array) -> Array:
    return heads


def _summed(shared: Callable[[Array], Array], heads: Array, kv_heads: int) -> Array:
    batch, number, *rest = heads.shape
    return np.asarray(shared(heads.reshape(batch, kv_heads, number // kv_heads, *rest)))


def multi_head_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of multi-head attention at a point of the family, one after the other.

    Where a model has rotary positions, `turning` are the function that turns heads, and the one that turns the gradient
    of heads back.
    """
    x, context, weights, gradient = (arguments[name] for name in ("x", "context", "weights", "grad_output"))
    number = arguments["num_heads"]
    kv_heads = arguments.get("num_kv_heads") or weights.w_k.shape[1] * number // weights.w_q.shape[1]
    sources = {"q": (x, number), "k": (context, kv_heads), "v": (context, kv_heads)}
    wide = [
        _projected(source, getattr(weights, f"w_{name}"), getattr(weights, f"b_{name}"))
        for name, (source, _) in sources.items()
    ]
    heads = [reference.split_heads(one, count) for one, (_, count) in zip(wide, sources.values(), strict=True)]
    turn, turn_back = arguments.get("turning") or (_as_it_is, lambda heads, gradient: gradient)
    turned = [turn(heads[0]), turn(heads[1]), heads[2]]
    above = gradient @ point["heads_gradient"](weights.w_o)
    of_heads, merged = _attended(arguments, turned, reference.split_heads(above, number), point)
    of_query, of_key, of_value = of_heads
    shared = point["shared_heads"]
    separate = (
        turn_back(heads[0], of_query),
        turn_back(heads[1], _summed(shared, of_key, kv_heads)),
        _summed(shared, of_value, kv_heads),
    )
    given = tuple(point["merge"](one) for one in separate)
    grad_context = point["into_context"](given[1] @ weights.w_k.T, given[2] @ weights.w_v.T)
    of_weights = dict(zip("qkv", point["cut"](*given), strict=True))
    parts = [given[0] @ weights.w_q.T, grad_context]
    parts += [point[f"sum_of_w_{name}"](source, of_weights[name]) for name, (source, _) in sources.items()]
    parts.append(point["sum_of_w_o"](point["last_input"](merged, wide[2]), gradient))
    for name, one in {**dict(zip("qkv", given, strict=True)), "o": gradient}.items():
        if getattr(weights, f"b_{name}") is not None:
            parts.append(point[f"sum_of_b_{name}"](one))
    return _joined(parts)


MULTI_HEAD_BACKWARD = Family(
    "multi_head_attention_backward",
    (
        INTO_CONTEXT,
        CUT,
        SHARED,
        MERGE,
        LAST_INPUT,
        HEADS_GRADIENT,
        *(matrix_sum(f"w_{name}") for name in "qkvo"),
        *(bias_sum(f"b_{name}") for name in "qvo"),
        _KEY_BIAS,
    ),
    multi_head_backward,
    {"attention": WITHIN},
    needs_dtype=True,
)


def single_head_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of attention of one head at a point of the family, one after the other."""
    x, weights, gradient = (arguments[name] for name in ("x", "weights", "grad_output"))
    mask = arguments.get("mask")
    if mask is not None and mask.ndim == 3:
        arguments = {**arguments, "mask": mask[:, None]}
    named = {name: getattr(weights, f"w_{name}") for name in "qkv"}
    heads = [(x @ weight)[:, None] for weight in named.values()]
    of_heads, _ = _attended(arguments, heads, gradient[:, None], point)
    given = tuple(one[:, 0] for one in of_heads)
    back = [one @ weight.T for one, weight in zip(given, named.values(), strict=True)]
    of_weights = dict(zip("qkv", point["cut"](*given), strict=True))
    return _joined(
        [point["into_sequence"](*back), *(point[f"sum_of_w_{name}"](x, one) for name, one in of_weights.items())]
    )


SINGLE_HEAD_BACKWARD = Family(
    "single_head_attention_backward",
    (INTO_SEQUENCE, CUT, *(matrix_sum(f"w_{name}") for name in "qkv")),
    single_head_backward,
    {"attention": WITHIN},
    needs_dtype=True,
)
