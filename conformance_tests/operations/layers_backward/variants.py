"""The families of the gradients of encoder and decoder layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

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
from veriformer.spec.conventions import CONVENTIONS

GELU_FORMS = CONVENTIONS["gelu_form"].value_names
EPS_PLACEMENTS = CONVENTIONS["layer_norm_eps"].value_names
Choose = Callable[..., Any]
FORGOTTEN = "residual_gradient_forgotten"


class Place(NamedTuple):
    """Where a sublayer stands: in a layer with its norms first or behind, and which one it is."""

    norm_first: bool
    sublayer: str


def _of_every_kind(slug: str, right: Choose, wrong: Choose) -> tuple[Option, ...]:
    """Return a mistake in layers of both kinds, and in those of one kind, whose branch of a program has it."""
    return (
        mistake(slug, lambda place, *given: wrong(*given)),
        mistake(slug, lambda place, *given: (wrong if place.norm_first else right)(*given), f"{slug}_in_pre_norm"),
        mistake(slug, lambda place, *given: (right if place.norm_first else wrong)(*given), f"{slug}_in_post_norm"),
    )


def at_one_sublayer(decision: Decision, slug: str, sublayers: Sequence[str]) -> Decision:
    """Return a decision with a mistake of it that is made at one of these sublayers, and not at the others."""
    right, wrong = decision.standard.apply, decision.option(slug).apply

    def at(name: str) -> Choose:
        return lambda place, *given: (wrong if place.sublayer == name else right)(place, *given)

    return replace(
        decision, options=(*decision.options, *(mistake(slug, at(name), f"{slug}_at_{name}") for name in sublayers))
    )


def _sum(above: Array, through: Array) -> Array:
    return np.asarray(above + through)


# Of the gradient that comes from above and of that through the sublayer: what the stream gets.
RESIDUAL = Decision(
    "residual",
    "Which gradients does the stream get?",
    (
        standard("both", lambda place, above, through: above + through),
        *_of_every_kind(FORGOTTEN, _sum, lambda above, through: through),
        *_of_every_kind("sublayer_gradient_forgotten", _sum, lambda above, through: above),
        neighbour("twice", lambda place, above, through: 2.0 * above + through, "the residual path counts twice"),
        neighbour("halved", lambda place, above, through: 0.5 * (above + through), "the gradients are averaged"),
    ),
)
# Of the gradient before and behind a norm: what passes the residual path of a post-norm layer.
AROUND = Decision(
    "around_norm",
    "Which gradient passes the residual path?",
    (
        standard("of_the_sum", lambda above, behind: behind),
        mistake("residual_gradient_around_norm", lambda above, behind: above),
    ),
)
INTO_SUBLAYER = Decision(
    "into_sublayer",
    "Does a sublayer get a gradient?",
    (
        standard("yes", lambda place, gradient: gradient),
        *_of_every_kind("gradient_cut_off", lambda gradient: gradient, np.zeros_like),
    ),
)


def _by_jacobian(back: Array, gradient: Array, gamma: Array) -> Array:
    return back


THROUGH_NORM = Decision(
    "through_norm",
    "How does the gradient pass a norm?",
    (
        standard("by_its_jacobian", lambda place, back, gradient, gamma: back),
        *_of_every_kind("norm_backward_skipped", _by_jacobian, lambda back, gradient, gamma: gradient),
        mistake("norm_backward_skipped", lambda place, back, gradient, gamma: gradient * gamma, "by_its_gain"),
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
class Part:
    """A part of a layer at a point: its function of a stream, and the gradients by the stream and by its weights."""

    forward: Callable[[Array], Array]
    backward: Callable[[Array, Array], tuple[Array, list[Array]]]


@dataclass(frozen=True)
class Sublayer:
    """A sublayer at a point, with its name and its norm."""

    name: str
    norm: Part
    function: Part


def split(joined: Array, shapes: Iterable[tuple[int, ...]]) -> list[Array]:
    """Return the arrays of these shapes that stand one after the other in one axis."""
    parts, start = [], 0
    for shape in shapes:
        parts.append(joined[start : start + prod(shape)].reshape(shape))
        start += prod(shape)
    return parts


def shapes_of(weights: Any) -> list[tuple[int, ...]]:
    """Return the shapes of a record's arrays, in its order."""
    return [array.shape for array in vars(weights).values() if array is not None]


def streams_of(x: Array, sublayers: Sequence[Sublayer], norm_first: bool) -> list[Array]:
    """Return what each sublayer reads."""
    streams = [x]
    for sublayer in sublayers[:-1]:
        streams.append(after(streams[-1], sublayer, norm_first))
    return streams


def after(x: Array, sublayer: Sublayer, norm_first: bool) -> Array:
    """Return the stream after a sublayer."""
    norm, function = sublayer.norm.forward, sublayer.function.forward
    return np.asarray(x + function(norm(x)) if norm_first else norm(x + function(x)))


def back_through(
    streams: Sequence[Array], sublayers: Sequence[Sublayer], gradient: Array, norm_first: bool, point: Point
) -> tuple[Array, list[list[Array]]]:
    """Return the gradient of what the first sublayer reads, and for each those of its weights and of its norm."""
    found: list[list[Array]] = []
    for sublayer, y in zip(reversed(sublayers), reversed(streams), strict=True):
        norm, function, place = sublayer.norm, sublayer.function, Place(norm_first, sublayer.name)
        if norm_first:
            read, given = norm.forward(y), point["into_sublayer"](place, gradient)
            behind, of_weights = function.backward(read, given)
            through, of_norm = norm.backward(y, behind)
            gradient = point["residual"](place, gradient, through)
        else:
            behind, of_norm = norm.backward(y + function.forward(y), gradient)
            through, of_weights = function.backward(y, point["into_sublayer"](place, behind))
            gradient = point["residual"](place, point["around_norm"](gradient, behind), through)
        found.append([*of_weights, *of_norm])
    return np.asarray(gradient), found[::-1]


def value_of(point: Point, decision: str, values: Sequence[str]) -> Any:
    """Return the value of a convention that a point has; the first one where a mistake stands in its place."""
    name = point.option(decision).name
    return name if name in values else values[0]


def _attention(arguments: Arguments, role: str, context: Array | None, mask: Array | None, point: Point) -> Part:
    weights = getattr(arguments["weights"], role)
    settings = {"num_heads": arguments["num_heads"], "mask": mask}

    def backward(y: Array, gradient: Array) -> tuple[Array, list[Array]]:
        given = y if context is None else context
        joined = point.part(role).result(
            {"x": y, "context": given, "weights": weights, "grad_output": gradient, **settings}
        )
        of_queries, of_context, *found = split(joined, [y.shape, given.shape, *shapes_of(weights)])
        if context is None:
            return np.asarray(point["paths"](of_queries, of_context)), found
        return of_queries, [point["memory"](of_context), *found]

    def forward(y: Array) -> Array:
        return reference.multi_head_attention(y, y if context is None else context, weights, **settings)

    return Part(forward, backward)


def _network(arguments: Arguments, point: Point) -> Part:
    weights, activation = arguments["weights"].feed_forward, arguments["activation"]
    form = value_of(point.part("feed_forward").part("gelu"), "form", GELU_FORMS)

    def backward(y: Array, gradient: Array) -> tuple[Array, list[Array]]:
        joined = point.part("feed_forward").result(
            {"x": y, "weights": weights, "grad_output": gradient, "activation": activation}
        )
        of_x, *found = split(joined, [y.shape, *shapes_of(weights)])
        return of_x, found

    def forward(y: Array) -> Array:
        return reference.feed_forward(y, weights, activation=activation, gelu_form=form)

    return Part(forward, backward)


def _norm(weights: Any, arguments: Arguments, name: str, point: Point) -> Part:
    eps, place = arguments["eps"], Place(arguments["norm_first"], name)
    placement = value_of(point.part("norms"), "eps_placement", EPS_PLACEMENTS)

    def backward(x: Array, gradient: Array) -> tuple[Array, list[Array]]:
        joined = point.part("norms").result(
            {"x": x, "gamma": weights.gamma, "beta": weights.beta, "grad_output": gradient, "eps": eps}
        )
        of_x, gain, shift = split(joined, [x.shape, weights.gamma.shape, weights.beta.shape])
        return np.asarray(point["through_norm"](place, of_x, gradient, weights.gamma)), [gain, shift]

    def forward(x: Array) -> Array:
        return reference.layer_norm(x, weights.gamma, weights.beta, eps=eps, eps_placement=placement)

    return Part(forward, backward)


def _through(
    arguments: Arguments, norms: Sequence[Any], functions: Mapping[str, Part], point: Point
) -> tuple[Array, list[list[Array]]]:
    """Return the gradient of the stream, and for each sublayer those of its weights and of its norm."""
    first = arguments["norm_first"]
    sublayers = [
        Sublayer(name, _norm(weights, arguments, name, point), function)
        for weights, (name, function) in zip(norms, functions.items(), strict=True)
    ]
    streams = streams_of(arguments["x"], sublayers, first)
    return back_through(streams, sublayers, arguments["grad_output"], first, point)


def encoder_layer_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of an encoder layer at a point of its family, one after the other."""
    weights, padding, queries = arguments["weights"], arguments.get("padding_mask"), arguments["x"].shape[1]
    mask = point["encoder_mask"](point["padding"](padding, queries), padding, queries)
    functions = {
        "self_attention": _attention(arguments, "self_attention", None, mask, point),
        "feed_forward": _network(arguments, point),
    }
    gradient, found = _through(arguments, (weights.norm_1, weights.norm_2), functions, point)
    return np.concatenate([part.ravel() for part in (gradient, *found[0], *found[1])])


def decoder_layer_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of a decoder layer at a point of its family, one after the other."""
    weights, memory = arguments["weights"], arguments["memory"]
    padding, queries = arguments.get("padding_mask"), arguments["x"].shape[1]
    mask = own_visible(point, padding, queries)
    seen = memory_visible(point, arguments.get("memory_padding_mask"), padding, queries, memory.shape[1])
    functions = {
        "self_attention": _attention(arguments, "self_attention", None, mask, point),
        "cross_attention": _attention(arguments, "cross_attention", memory, seen, point),
        "feed_forward": _network(arguments, point),
    }
    norms = weights.norm_1, weights.norm_2, weights.norm_3
    gradient, (of_self, (of_memory, *of_cross), of_network) = _through(arguments, norms, functions, point)
    return np.concatenate([part.ravel() for part in (gradient, of_memory, *of_self, *of_cross, *of_network)])


# What shows in attention alone, and what decides about masks that a layer makes itself.
_WITHIN = MULTI_HEAD_BACKWARD.without("into_context=none", "shared_heads")
_NETWORK = FEED_FORWARD_BACKWARD.without("residual")
_OWN = (AROUND, INTO_SUBLAYER, THROUGH_NORM, PATHS)
TWO_SUBLAYERS = ("self_attention", "feed_forward")
THREE_SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")
ENCODER_LAYER_BACKWARD = Family(
    "encoder_layer_backward",
    (at_one_sublayer(RESIDUAL, FORGOTTEN, TWO_SUBLAYERS), *_OWN, PADDING, ENCODER_MASK),
    encoder_layer_backward,
    {"self_attention": _WITHIN, "norms": LAYER_NORM_BACKWARD, "feed_forward": _NETWORK},
)
DECODER_LAYER_BACKWARD = Family(
    "decoder_layer_backward",
    (
        at_one_sublayer(RESIDUAL, FORGOTTEN, THREE_SUBLAYERS),
        *_OWN,
        MEMORY,
        PADDING,
        CAUSALITY,
        MASKS_TOGETHER,
        MEMORY_PADDING,
        MEMORY_MASK,
    ),
    decoder_layer_backward,
    {
        "self_attention": _WITHIN,
        "cross_attention": MULTI_HEAD_BACKWARD.without("shared_heads"),
        "norms": LAYER_NORM_BACKWARD,
        "feed_forward": _NETWORK,
    },
)
