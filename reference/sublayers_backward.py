"""Going back through sublayers with residual connections and norms, from the last to the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from veriformer.reference.array_types import Array, Float64
from veriformer.reference.layer_weights import DecoderLayerWeights

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


@dataclass(frozen=True)
class Passed:
    """A sublayer f with its norm n that a stream x has passed, and what the second of them reads.

    Shapes: x and between (B, L, E); between is n(x) under norm_first (pre-norm), otherwise x + f(x) (post-norm).
    Raises: what the sublayer raises.
    Source: Xiong et al. 2020, table 1.
    """

    sublayer: Sublayer
    x: Stream
    between: Stream
    norm_first: bool

    def result(self) -> Stream:
        """Return x + f(n(x)) under norm_first, otherwise n(x + f(x))."""
        if self.norm_first:
            return np.asarray(self.x + self.sublayer.function.forward(self.between))
        return self.sublayer.norm.forward(self.between)


def forward_through(x: Stream, sublayers: Sequence[Sublayer], *, norm_first: bool) -> list[Passed]:
    """Pass a stream through sublayers, and keep what they read for the way back; the last has its result in itself.

    Shapes: x (B, L, E).
    Raises: what the sublayers raise.
    Source: Vaswani et al. 2017, section 3.1.
    """
    passed: list[Passed] = []
    for sublayer in sublayers:
        y = passed[-1].result() if passed else x
        between = sublayer.norm.forward(y) if norm_first else np.asarray(y + sublayer.function.forward(y))
        passed.append(Passed(sublayer, y, between, norm_first))
    return passed


def back_through(passed: Sequence[Passed], gradient: Stream) -> tuple[Stream, list[tuple[Any, Any]]]:
    """Trace the gradient of a loss back through sublayers f with norms n that a stream has passed.

    y = x + f(n(x)):  dx = g + n_backward(x, f_backward(n(x), g))                          norm_first (pre-norm)
    y = n(x + f(x)):  dx = s + f_backward(x, s),  s = n_backward(x + f(x), g)              otherwise (post-norm)

    Shapes: gradient (B, L, E); to (B, L, E), and for each sublayer the records of its weights and of its norm's.
    Raises: what the sublayers raise.
    Source: Xiong et al. 2020, table 1, differentiated.
    """
    found = []
    for one in reversed(passed):
        gradient, of_weights = _back(one, gradient)
        found.append(of_weights)
    return gradient, found[::-1]


def _back(passed: Passed, gradient: Stream) -> tuple[Stream, tuple[Any, Any]]:
    norm, function = passed.sublayer.norm, passed.sublayer.function
    if passed.norm_first:
        grad_normalised, of_weights = function.backward(passed.between, gradient)
        through, of_norm = norm.backward(passed.x, grad_normalised)
        return np.asarray(gradient + through), (of_weights, of_norm)
    grad_sum, of_norm = norm.backward(passed.between, gradient)
    through, of_weights = function.backward(passed.x, grad_sum)
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


def through_encoder_layer(parts: Parts, x: Stream, weights: Any, mask: Any) -> list[Passed]:
    """Pass a stream through self-attention and a network.

    Shapes: x (B, L, E), mask broadcastable to (B, 1, L, L).
    Raises: what the parts raise.
    Source: Vaswani et al. 2017, section 3.1.
    """
    sublayers = (
        Sublayer(parts.norm(weights.norm_1), parts.attention(weights.self_attention, mask)),
        Sublayer(parts.norm(weights.norm_2), parts.network(weights.feed_forward)),
    )
    return forward_through(x, sublayers, norm_first=parts.norm_first)


def encoder_layer_back(passed: Sequence[Passed], gradient: Stream) -> tuple[Stream, tuple[Any, Any, Any, Any]]:
    """Trace the gradient of a loss back through an encoder's layer that a stream has passed.

    Shapes: gradient (B, L, E); to (B, L, E), and the records of the weights in their order: attention, its norm,
    network, its norm.
    Raises: what the parts raise.
    Source: Vaswani et al. 2017, section 3.1, differentiated.
    """
    grad_x, (first, second) = back_through(passed, gradient)
    return grad_x, (*first, *second)


def through_decoder_layer(
    parts: Parts, x: Stream, memory: Memory, weights: Any, masks: tuple[Any, Any]
) -> list[Passed]:
    """Pass a stream through self-attention, attention to a memory, and a network.

    Shapes: x (B, L, E), memory (B, S, E), masks broadcastable to (B, 1, L, L) and (B, 1, L, S).
    Raises: what the parts raise.
    Source: Vaswani et al. 2017, section 3.1.
    """
    own, other = masks
    sublayers = (
        Sublayer(parts.norm(weights.norm_1), parts.attention(weights.self_attention, own)),
        Sublayer(parts.norm(weights.norm_2), parts.attention(weights.cross_attention, other, memory)),
        Sublayer(parts.norm(weights.norm_3), parts.network(weights.feed_forward)),
    )
    return forward_through(x, sublayers, norm_first=parts.norm_first)


def decoder_layer_back(passed: Sequence[Passed], gradient: Stream) -> tuple[Stream, Memory, DecoderLayerWeights]:
    """Trace the gradient of a loss back through a decoder's layer that a stream has passed.

    Shapes: gradient (B, L, E); to (B, L, E), (B, S, E) and a record of the weights' shapes.
    Raises: what the parts raise.
    Source: Vaswani et al. 2017, section 3.1, differentiated.
    """
    grad_x, ((attention, norm_1), ((cross, grad_memory), norm_2), (network, norm_3)) = back_through(passed, gradient)
    return grad_x, grad_memory, DecoderLayerWeights(attention, norm_1, cross, norm_2, network, norm_3)
