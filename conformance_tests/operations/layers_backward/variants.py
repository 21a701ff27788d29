"""The families of the gradients of encoder and decoder layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.feed_forward_backward.variants import FEED_FORWARD_BACKWARD
from veriformer.conformance_tests.operations.layers.variants.masks import (
    CAUSALITY,
    ENCODER_MASK,
    MASKS_TOGETHER,
    MEMORY_MASK,
    MEMORY_PADDING,
    PADDING,
    memory_visible,
    own_visible,
)
from veriformer.conformance_tests.operations.multi_head_backward.variants import LOST, MULTI_HEAD_BACKWARD
from veriformer.conformance_tests.operations.normalisation_backward.variants import LAYER_NORM_BACKWARD
from veriformer.conformance_tests.variants.decision import Decision, Option, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

Choose = Callable[..., Any]


def _placed(slug: str, right: Choose, wrong: Choose) -> tuple[Option, ...]:
    """Return a mistake in layers of both kinds, and in those of one kind, whose branch of a program has it."""
    return (
        mistake(slug, lambda norm_first, *given: wrong(*given)),
        mistake(slug, lambda norm_first, *given: (wrong if norm_first else right)(*given), f"{slug}_in_pre_norm"),
        mistake(slug, lambda norm_first, *given: (right if norm_first else wrong)(*given), f"{slug}_in_post_norm"),
    )


def _sum(above: Array, through: Array) -> Array:
    return np.asarray(above + through)


# Of the gradient that comes from above and of that through the sublayer: what the stream gets.
RESIDUAL = Decision(
    "residual",
    "Which gradients does the stream get?",
    (
        standard("both", lambda norm_first, above, through: above + through),
        *_placed("residual_gradient_forgotten", _sum, lambda above, through: through),
        *_placed("sublayer_gradient_forgotten", _sum, lambda above, through: above),
        neighbour("twice", lambda norm_first, above, through: 2.0 * above + through, "the residual path counts twice"),
        neighbour("halved", lambda norm_first, above, through: 0.5 * (above + through), "the gradients are averaged"),
    ),
)
# Of the gradient before and behind a norm: what passes the residual path of a post-norm layer.
AROUND = Decision(
    "around_norm",
    "Which gradient passes the residual path?",
    (
        standard("of_the_sum", lambda norm_first, above, behind: above if norm_first else behind),
        mistake("residual_gradient_around_norm", lambda norm_first, above, behind: above),
    ),
)
INTO_SUBLAYER = Decision(
    "into_sublayer",
    "Does a sublayer get a gradient?",
    (
        standard("yes", lambda norm_first, gradient: gradient),
        *_placed("gradient_cut_off", lambda gradient: gradient, np.zeros_like),
    ),
)


def _by_jacobian(back: Array, gradient: Array, gamma: Array) -> Array:
    return back


THROUGH_NORM = Decision(
    "through_norm",
    "How does the gradient pass a norm?",
    (
        standard("by_its_jacobian", lambda norm_first, back, gradient, gamma: back),
        *_placed("norm_backward_skipped", _by_jacobian, lambda back, gradient, gamma: gradient),
        mistake("norm_backward_skipped", lambda norm_first, back, gradient, gamma: gradient * gamma, "by_its_gain"),
    ),
)
PATHS = Decision(
    "paths",
    "Through what does the stream get gradients of the self-attention?",
    (
        standard("queries_keys_and_values", lambda of_queries, of_context: of_queries + of_context),
        mistake(LOST, lambda of_queries, of_context: of_queries, "queries_alone"),
        mistake(LOST, lambda of_queries, of_context: of_context, "keys_and_values_alone"),
    ),
)
MEMORY = Decision(
    "memory",
    "What gradient does the memory get?",
    (
        standard("of_keys_and_values", lambda gradient: gradient),
        mistake("memory_without_gradient", np.zeros_like),
    ),
)


@dataclass(frozen=True)
class _Sublayer:
    """A sublayer of a layer at a point: its norm's weights, and its own functions forward and back."""

    norm: Any
    forward: Callable[[Array], Array]
    backward: Callable[[Array, Array], tuple[Array, list[Array]]]


def _split(joined: Array, shapes: Iterable[tuple[int, ...]]) -> list[Array]:
    parts, start = [], 0
    for shape in shapes:
        parts.append(joined[start : start + prod(shape)].reshape(shape))
        start += prod(shape)
    return parts


def _shapes(weights: Any) -> list[tuple[int, ...]]:
    return [array.shape for array in vars(weights).values() if array is not None]


def _attention(
    arguments: Arguments, role: str, norm: Any, context: Array | None, mask: Array | None, point: Point
) -> _Sublayer:
    weights = getattr(arguments["weights"], role)
    settings = {"num_heads": arguments["num_heads"], "mask": mask}

    def backward(y: Array, gradient: Array) -> tuple[Array, list[Array]]:
        given = y if context is None else context
        joined = point.part(role).result(
            {"x": y, "context": given, "weights": weights, "grad_output": gradient, **settings}
        )
        of_queries, of_context, *found = _split(joined, [y.shape, given.shape, *_shapes(weights)])
        if context is None:
            return np.asarray(point["paths"](of_queries, of_context)), found
        return of_queries, [point["memory"](of_context), *found]

    def forward(y: Array) -> Array:
        return reference.multi_head_attention(y, y if context is None else context, weights, **settings)

    return _Sublayer(norm, forward, backward)


def _network(arguments: Arguments, norm: Any, point: Point) -> _Sublayer:
    weights, activation = arguments["weights"].feed_forward, arguments["activation"]
    form: Any = point.part("feed_forward").part("gelu").option("form").name
    known: Any = form if form in ("erf", "tanh", "sigmoid") else "erf"

    def backward(y: Array, gradient: Array) -> tuple[Array, list[Array]]:
        joined = point.part("feed_forward").result(
            {"x": y, "weights": weights, "grad_output": gradient, "activation": activation}
        )
        of_x, *found = _split(joined, [y.shape, *_shapes(weights)])
        return of_x, found

    def forward(y: Array) -> Array:
        return reference.feed_forward(y, weights, activation=activation, gelu_form=known)

    return _Sublayer(norm, forward, backward)


def _placement(point: Point) -> Any:
    name = point.part("norms").option("eps_placement").name
    return name if name in ("inside_root", "outside_root") else "inside_root"


def _normalised(x: Array, norm: Any, eps: float, point: Point) -> Array:
    return reference.layer_norm(x, norm.gamma, norm.beta, eps=eps, eps_placement=_placement(point))


def _norm_back(x: Array, norm: Any, arguments: Arguments, gradient: Array, point: Point) -> tuple[Array, list[Array]]:
    eps, first = arguments["eps"], arguments["norm_first"]
    joined = point.part("norms").result(
        {"x": x, "gamma": norm.gamma, "beta": norm.beta, "grad_output": gradient, "eps": eps}
    )
    of_x, gain, shift = _split(joined, [x.shape, norm.gamma.shape, norm.beta.shape])
    return np.asarray(point["through_norm"](first, of_x, gradient, norm.gamma)), [gain, shift]


def _through(arguments: Arguments, sublayers: Sequence[_Sublayer], point: Point) -> tuple[Array, list[list[Array]]]:
    """Return the gradient of the stream, and for each sublayer those of its weights and of its norm."""
    eps, first, gradient = arguments["eps"], arguments["norm_first"], arguments["grad_output"]
    streams = [arguments["x"]]
    for sublayer in sublayers[:-1]:
        y = streams[-1]
        if first:
            streams.append(y + sublayer.forward(_normalised(y, sublayer.norm, eps, point)))
        else:
            streams.append(_normalised(y + sublayer.forward(y), sublayer.norm, eps, point))
    found: list[list[Array]] = []
    for sublayer, y in zip(reversed(sublayers), reversed(streams), strict=True):
        if first:
            read, given = _normalised(y, sublayer.norm, eps, point), point["into_sublayer"](first, gradient)
            behind, of_weights = sublayer.backward(read, given)
            through, of_norm = _norm_back(y, sublayer.norm, arguments, behind, point)
            gradient = point["residual"](first, point["around_norm"](first, gradient, gradient), through)
        else:
            behind, of_norm = _norm_back(y + sublayer.forward(y), sublayer.norm, arguments, gradient, point)
            through, of_weights = sublayer.backward(y, point["into_sublayer"](first, behind))
            gradient = point["residual"](first, point["around_norm"](first, gradient, behind), through)
        found.append([*of_weights, *of_norm])
    return np.asarray(gradient), found[::-1]


def encoder_layer_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of an encoder layer at a point of its family, one after the other."""
    weights, padding, queries = arguments["weights"], arguments.get("padding_mask"), arguments["x"].shape[1]
    mask = point["encoder_mask"](point["padding"](padding, queries), padding, queries)
    sublayers = (
        _attention(arguments, "self_attention", weights.norm_1, None, mask, point),
        _network(arguments, weights.norm_2, point),
    )
    gradient, found = _through(arguments, sublayers, point)
    return np.concatenate([part.ravel() for part in (gradient, *found[0], *found[1])])


def decoder_layer_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of a decoder layer at a point of its family, one after the other."""
    weights, memory = arguments["weights"], arguments["memory"]
    padding, queries = arguments.get("padding_mask"), arguments["x"].shape[1]
    mask = own_visible(point, padding, queries)
    seen = memory_visible(point, arguments.get("memory_padding_mask"), padding, queries, memory.shape[1])
    sublayers = (
        _attention(arguments, "self_attention", weights.norm_1, None, mask, point),
        _attention(arguments, "cross_attention", weights.norm_2, memory, seen, point),
        _network(arguments, weights.norm_3, point),
    )
    gradient, (of_self, (of_memory, *of_cross), of_network) = _through(arguments, sublayers, point)
    return np.concatenate([part.ravel() for part in (gradient, of_memory, *of_self, *of_cross, *of_network)])


# What shows in attention alone, and what decides about masks that a layer makes itself.
_WITHIN = MULTI_HEAD_BACKWARD.without("into_context", "shared_heads")
_NETWORK = FEED_FORWARD_BACKWARD.without("residual")
_OWN = (RESIDUAL, AROUND, INTO_SUBLAYER, THROUGH_NORM, PATHS)
ENCODER_LAYER_BACKWARD = Family(
    "encoder_layer_backward",
    (*_OWN, PADDING, ENCODER_MASK),
    encoder_layer_backward,
    {"self_attention": _WITHIN, "norms": LAYER_NORM_BACKWARD, "feed_forward": _NETWORK},
)
DECODER_LAYER_BACKWARD = Family(
    "decoder_layer_backward",
    (*_OWN, MEMORY, PADDING, CAUSALITY, MASKS_TOGETHER, MEMORY_PADDING, MEMORY_MASK),
    decoder_layer_backward,
    {
        "self_attention": _WITHIN,
        "cross_attention": MULTI_HEAD_BACKWARD.without("shared_heads"),
        "norms": LAYER_NORM_BACKWARD,
        "feed_forward": _NETWORK,
    },
)
