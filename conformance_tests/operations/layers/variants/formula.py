"""The families of encoder and decoder layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.feed_forward.variants import FEED_FORWARD
from veriformer.conformance_tests.operations.layers.variants.masks import (
    CAUSALITY,
    CONTEXT,
    ENCODER_MASK,
    MASKS_TOGETHER,
    MEMORY_MASK,
    MEMORY_PADDING,
    PADDING,
    memory_visible,
    own_visible,
)
from veriformer.conformance_tests.operations.layers.variants.placement import (
    Sublayer,
    Transformation,
    norm_placement,
    norm_weights,
    residual,
    sublayer_outputs,
    through_sublayers,
)
from veriformer.conformance_tests.operations.layers.variants.sublayers import CROSS_ATTENTION, SELF_ATTENTION
from veriformer.conformance_tests.operations.normalisation.variants import LAYER_NORM
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point


def encoder_layer(arguments: Arguments, point: Point) -> Array:
    """Return the result of an encoder layer at a point of its family."""
    arguments = point["absent_biases"](arguments)
    x, weights, padding = arguments["x"], arguments["weights"], arguments.get("padding_mask")
    visible = point["encoder_mask"](point["padding"](padding, x.shape[1]), padding, x.shape[1])
    functions = [
        ("self_attention", lambda y: _attended(point, "self_attention", arguments, y, y, visible)),
        ("feed_forward", lambda y: _transformed(point, arguments, y)),
    ]
    return _layer(arguments, point, [weights.norm_1, weights.norm_2], functions)


def decoder_layer(arguments: Arguments, point: Point) -> Array:
    """Return the result of a decoder layer at a point of its family."""
    arguments = point["absent_biases"](arguments)
    x, memory, weights = arguments["x"], arguments["memory"], arguments["weights"]
    padding, queries = arguments.get("padding_mask"), x.shape[1]
    visible = own_visible(point, padding, queries)
    seen = memory_visible(point, arguments.get("memory_padding_mask"), padding, queries, memory.shape[1])

    def look_up(y: Array) -> Array:
        norm = _norm(point, weights.norm_2, arguments["eps"])
        context, mask = point["context"](y, memory, norm, visible, seen)
        return _attended(point, "cross_attention", arguments, y, context, mask)

    functions = [
        ("self_attention", lambda y: _attended(point, "self_attention", arguments, y, y, visible)),
        ("cross_attention", look_up),
        ("feed_forward", lambda y: _transformed(point, arguments, y)),
    ]
    return _layer(arguments, point, [weights.norm_1, weights.norm_2, weights.norm_3], functions)


def _layer(
    arguments: Arguments, point: Point, norms: list[Any], functions: Sequence[tuple[str, Transformation]]
) -> Array:
    chosen = [_norm(point, weights, arguments["eps"]) for weights in point["norm_weights"](norms)]
    sublayers = [Sublayer(name, norm, function) for (name, function), norm in zip(functions, chosen, strict=True)]
    return through_sublayers(arguments["x"], sublayers, arguments["norm_first"], point)


def _norm(point: Point, weights: Any, eps: float) -> Callable[[Array], Array]:
    part = point.part("norms")
    return lambda x: part.result({"x": x, "gamma": weights.gamma, "beta": weights.beta, "eps": eps})


def _attended(point: Point, role: str, arguments: Arguments, x: Array, context: Array, mask: Array | None) -> Array:
    weights, num_heads = getattr(arguments["weights"], role), arguments["num_heads"]
    bias = point["logits_by_position"](x.shape[1], context.shape[1])
    return point.part(role).result(
        {"x": x, "context": context, "weights": weights, "num_heads": num_heads, "mask": mask, "bias": bias}
    )


def _transformed(point: Point, arguments: Arguments, x: Array) -> Array:
    return point.part("feed_forward").result(
        {"x": x, "weights": arguments["weights"].feed_forward, "activation": arguments["activation"]}
    )


def _with_biases_of_one(arguments: Arguments) -> Arguments:
    weights = arguments["weights"]
    groups = {
        name: replace(group, **{bias: _ones_for(group, bias) for bias in _BIASES if getattr(group, bias, 0) is None})
        for name, group in vars(weights).items()
    }
    return {**arguments, "weights": replace(weights, **groups)}


def _ones_for(group: Any, bias: str) -> Array:
    return np.ones(getattr(group, bias.replace("b", "w", 1)).shape[1])


def _key_positions(keys: int) -> Array:
    return np.arange(keys, dtype=np.float64)[None, None, None]


_BIASES = ("b_q", "b_k", "b_v", "b_o", "b_1", "b_2")
ABSENT_BIASES = Decision(
    "absent_biases",
    "What is added where no bias is given?",
    (standard("nothing", lambda arguments: arguments), mistake("bias_of_one_by_default", _with_biases_of_one)),
)
LOGITS_BY_POSITION = Decision(
    "logits_by_position",
    "Do positions bear on the logits?",
    (
        standard("no", lambda queries, keys: None),
        mistake("position_dependent_logits", lambda queries, keys: -_key_positions(keys), "early_keys_favoured"),
        mistake("position_dependent_logits", lambda queries, keys: _key_positions(keys), "late_keys_favoured"),
        mistake(
            "position_dependent_logits",
            lambda queries, keys: -np.abs(np.arange(queries)[:, None] - _key_positions(keys)),
            "near_keys_favoured",
        ),
    ),
)
_COMMON = (ABSENT_BIASES, LOGITS_BY_POSITION)
ENCODER_LAYER = Family(
    "encoder_layer",
    (
        norm_placement(pre_norm=True, post_norm=True),
        residual(flag=True),
        *_COMMON,
        norm_weights(2),
        sublayer_outputs("self_attention", "feed_forward"),
        PADDING,
        ENCODER_MASK,
    ),
    encoder_layer,
    {"self_attention": SELF_ATTENTION, "norms": LAYER_NORM, "feed_forward": FEED_FORWARD},
)
DECODER_LAYER = Family(
    "decoder_layer",
    (
        norm_placement(pre_norm=True, post_norm=True, cross_attention=True),
        residual(flag=True, cross_attention=True),
        *_COMMON,
        norm_weights(3),
        sublayer_outputs("self_attention", "cross_attention", "feed_forward"),
        PADDING,
        CAUSALITY,
        MASKS_TOGETHER,
        MEMORY_PADDING,
        MEMORY_MASK,
        CONTEXT,
    ),
    decoder_layer,
    {
        "self_attention": SELF_ATTENTION,
        "cross_attention": CROSS_ATTENTION,
        "norms": LAYER_NORM,
        "feed_forward": FEED_FORWARD,
    },
)
