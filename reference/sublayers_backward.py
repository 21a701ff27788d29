"""Going back through sublayers with residual connections and norms, from the last to the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from veriformer.reference.array_types import Array, Float64
from veriformer.reference.layer_weights import DecoderLayerWeights
from veriformer.reference.layers import residual

Stream = Float64[Array, "B L E"]
Memory = Float64[Array, "B S E"]


@dataclass(frozen=True)
class Differentiable:
    """A function of a stream, and the gradients by that stream and by its weights, given that of its result.

    Shapes: streams are (B, L, E); `backward` takes the stream and the gradient, and returns the stream's gradient and
    a record of those of the weights.
    Raises: what the functions raise.
    Source: none; it names the two passes.
    """

    forward: Callable[[Stream], Stream]
    backward: Callable[[Stream, Stream], tuple[Stream, Any]]


@dataclass(frozen=True)
class Sublayer:
    """A sublayer with its norm.

    Shapes: as in `Differentiable`.
    Raises: what these raise.
    Source: Vaswani et al. 2017, section 3.1.
    """

    norm: Differentiable
    function: Differentiable


def through_sublayers(
    x: Stream, sublayers: Sequence[Sublayer], gradient: Stream, *, norm_first: bool
) -> tuple[Stream, list[tuple[Any, Any]]]:
    """Trace the gradient of a loss back through sublayers f with norms n.

    y = x + f(n(x)):  dx = g + n_backward(x, f_backward(n(x), g))                          norm_first (pre-norm)
    y = n(x + f(x)):  dx = s + f_backward(x, s),  s = n_backward(x + f(x), g)              otherwise (post-norm)

    Shapes: x and gradient (B, L, E); to (B, L, E), and for each sublayer the records of its weights and of its norm's.
    Raises: what the sublayers raise.
    Source: Xiong et al. 2020, table 1, differentiated.
    """
    streams = [x]
    for sublayer in sublayers[:-1]:
        norm, function = sublayer.norm.forward, sublayer.function.forward
        streams.append(residual(streams[-1], norm, function, norm_first=norm_first))
    found = []
    for sublayer, stream in zip(reversed(sublayers), reversed(streams), strict=True):
        gradient, of_weights = _back(stream, sublayer, gradient, norm_first=norm_first)
        found.append(of_weights)
    return gradient, found[::-1]


def _back(x: Stream, sublayer: Sublayer, gradient: Stream, *, norm_first: bool) -> tuple[Stream, tuple[Any, Any]]:
    norm, function = sublayer.norm, sublayer.function
    if norm_first:
        grad_normalised, of_weights = function.backward(norm.forward(x), gradient)
        through, of_norm = norm.backward(x, grad_normalised)
        return np.asarray(gradient + through), (of_weights, of_norm)
    grad_sum, of_norm = norm.backward(np.asarray(x + function.forward(x)), gradient)
    through, of_weights = function.backward(x, grad_sum)
    return np.asarray(grad_sum + through), (of_weights, of_norm)


@runtime_checkable
class Parts(Protocol):
    """The parts of a layer, each made from its weights.

    Shapes: masks are broadcastable to (B, 1, L, S), a memory is (B, S, E).
    Raises: what the parts raise.
    Source: Vaswani et al. 2017, section 3.1.
    """

    @property
    def norm_first(self) -> bool:
        """Whether norms come before the sublayers, and not after the sums."""

    def norm(self, weights: Any) -> Differentiable:
        """Return the norm."""

    def network(self, weights: Any) -> Differentiable:
        """Return the feed-forward network."""

    def attention(self, weights: Any, mask: Any, memory: Memory | None = None) -> Differentiable:
        """Return attention of a stream to itself, or to a memory, whose gradient then comes with the weights'."""


def by_context(memory: Memory | None, gradients: tuple[Stream, Memory, Any]) -> tuple[Stream, Any]:
    """Return the gradient of attention's stream, and those of its weights, with the memory's where there is one.

    Shapes: gradients of queries (B, L, E), of the context (B, S, E), and of the weights.
    Raises: nothing.
    Source: the stream that is its own context gets both gradients, which add up.
    """
    of_queries, of_context, of_weights = gradients
    if memory is None:
        return np.asarray(of_queries + of_context), of_weights
    return of_queries, (of_weights, of_context)


def through_encoder_layer(
    parts: Parts, x: Stream, weights: Any, mask: Any, gradient: Stream
) -> tuple[Stream, tuple[Any, Any, Any, Any]]:
    """Trace the gradient of a loss back through self-attention and a network.

    Shapes: x and gradient (B, L, E), mask broadcastable to (B, 1, L, L); to (B, L, E), and the records of the weights
    in their order: attention, its norm, network, its norm.
    Raises: what the parts raise.
    Source: Vaswani et al. 2017, section 3.1, differentiated.
    """
    sublayers = (
        Sublayer(parts.norm(weights.norm_1), parts.attention(weights.self_attention, mask)),
        Sublayer(parts.norm(weights.norm_2), parts.network(weights.feed_forward)),
    )
    grad_x, (first, second) = through_sublayers(x, sublayers, gradient, norm_first=parts.norm_first)
    return grad_x, (*first, *second)


def through_decoder_layer(
    parts: Parts, x: Stream, memory: Memory, weights: Any, masks: tuple[Any, Any], gradient: Stream
) -> tuple[Stream, Memory, DecoderLayerWeights]:
    """Trace the gradient of a loss back through self-attention, attention to a memory, and a network.

    Shapes: x and gradient (B, L, E), memory (B, S, E), masks broadcastable to (B, 1, L, L) and (B, 1, L, S); to
    (B, L, E), (B, S, E) and a record of the weights' shapes.
    Raises: what the parts raise.
    Source: Vaswani et al. 2017, section 3.1, differentiated.
    """
    own, other = masks
    sublayers = (
        Sublayer(parts.norm(weights.norm_1), parts.attention(weights.self_attention, own)),
        Sublayer(parts.norm(weights.norm_2), parts.attention(weights.cross_attention, other, memory)),
        Sublayer(parts.norm(weights.norm_3), parts.network(weights.feed_forward)),
    )
    grad_x, found = through_sublayers(x, sublayers, gradient, norm_first=parts.norm_first)
    (attention, norm_1), ((cross, grad_memory), norm_2), (network, norm_3) = found
    return grad_x, grad_memory, DecoderLayerWeights(attention, norm_1, cross, norm_2, network, norm_3)
