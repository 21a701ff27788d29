"""The backward passes of encoder and decoder layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.checks import Sizes, as_axes, as_grad_output
from veriformer.reference.conventions import Activation, EpsPlacement, GeluForm
from veriformer.reference.feed_forward import feed_forward
from veriformer.reference.feed_forward_backward import feed_forward_backward
from veriformer.reference.layer_weights import (
    DecoderLayerWeights,
    EncoderLayerWeights,
    HasDecoderLayerWeights,
    HasEncoderLayerWeights,
    HasNormWeights,
    NormWeights,
)
from veriformer.reference.layers import keys_only
from veriformer.reference.multi_head import multi_head_attention
from veriformer.reference.multi_head_backward import multi_head_attention_backward
from veriformer.reference.normalisation import layer_norm
from veriformer.reference.normalisation_backward import layer_norm_backward
from veriformer.reference.weights import HasMultiHeadWeights

Stream = Float64[Array, "B L E"]


@dataclass(frozen=True)
class Sublayer:
    """A sublayer with its norm: what it makes of a stream, and the gradients by that stream and by its weights.

    Shapes: each function takes streams (B, L, E).
    Raises: nothing.
    Source: Vaswani et al. 2017, section 3.1.
    """

    norm: HasNormWeights
    forward: Callable[[Stream], Stream]
    backward: Callable[[Stream, Stream], tuple[Stream, Any]]


@dataclass(frozen=True)
class Norms:
    """The settings of a layer's norms, and their place.

    Shapes: none.
    Raises: nothing.
    Source: Xiong et al. 2020, table 1.
    """

    eps: float
    eps_placement: EpsPlacement
    norm_first: bool

    def forward(self, x: Stream, weights: HasNormWeights) -> Stream:
        """Return the normalised stream.

        Shapes: x (B, L, E), to the same.
        Raises: ValueError as `layer_norm` does.
        Source: Ba, Kiros & Hinton 2016, section 3.
        """
        return layer_norm(x, weights.gamma, weights.beta, eps=self.eps, eps_placement=self.eps_placement)

    def backward(self, x: Stream, weights: HasNormWeights, gradient: Stream) -> tuple[Stream, NormWeights]:
        """Return the gradients of the stream and of gain and shift.

        Shapes: x and gradient (B, L, E), to the same.
        Raises: ValueError as `layer_norm_backward` does.
        Source: Ba, Kiros & Hinton 2016, section 3, differentiated.
        """
        settings: dict[str, Any] = {"eps": self.eps, "eps_placement": self.eps_placement}
        grad_x, gain, shift = layer_norm_backward(x, weights.gamma, weights.beta, gradient, **settings)
        return grad_x, NormWeights(gain, shift)


def encoder_layer_backward(
    x: Float[Array, "B L E"],
    weights: HasEncoderLayerWeights,
    grad_output: Float[Array, "B L E"],
    *,
    num_heads: int,
    norm_first: bool,
    activation: Activation,
    eps: float,
    padding_mask: Bool[Array, "B L"] | None = None,
    gelu_form: GeluForm = "erf",
    eps_placement: EpsPlacement = "inside_root",
) -> tuple[Float64[Array, "B L E"], EncoderLayerWeights]:
    """Trace the gradient of a loss from an encoder layer back to its stream and its weights.

    The sublayers f with their norms n are gone through from the last to the first, each with the gradient g of its
    result:
    y = x + f(n(x)):  dx = g + n_backward(x, f_backward(n(x), g))                          norm_first (pre-norm)
    y = n(x + f(x)):  dx = s + f_backward(x, s),  s = n_backward(x + f(x), g)              otherwise (post-norm)

    Shapes: x and grad_output (B, L, E), padding_mask (B, L); to (B, L, E) and a record of the weights' shapes.
    Raises: ValueError as `encoder_layer` does, and when grad_output has not the shape of x.
    Source: Vaswani et al. 2017, section 3.1, and Xiong et al. 2020, table 1, differentiated.
    Conventions: gelu_form, layer_norm_eps. Padded positions of the output have no meaning: their gradient is 0 in any
    loss that heeds the mask.
    """
    sizes: Sizes = {}
    x = as_axes("x", x, "B L E", sizes)
    mask = keys_only(padding_mask, "padding_mask", sizes["B"], sizes["L"])
    sublayers = (
        _self_attention(weights.norm_1, weights.self_attention, num_heads, mask, causal=False),
        _network(weights.norm_2, weights.feed_forward, activation, gelu_form),
    )
    gradient = as_grad_output(grad_output, x.shape)
    grad_x, ((attention, norm_1), (network, norm_2)) = _through(
        x, sublayers, Norms(eps, eps_placement, norm_first), gradient
    )
    return grad_x, EncoderLayerWeights(attention, norm_1, network, norm_2)


def decoder_layer_backward(
    x: Float[Array, "B L E"],
    memory: Float[Array, "B S E"],
    weights: HasDecoderLayerWeights,
    grad_output: Float[Array, "B L E"],
    *,
    num_heads: int,
    norm_first: bool,
    activation: Activation,
    eps: float,
    padding_mask: Bool[Array, "B L"] | None = None,
    memory_padding_mask: Bool[Array, "B S"] | None = None,
    gelu_form: GeluForm = "erf",
    eps_placement: EpsPlacement = "inside_root",
) -> tuple[Float64[Array, "B L E"], Float64[Array, "B S E"], DecoderLayerWeights]:
    """Trace the gradient of a loss from a decoder layer back to its stream, the memory and its weights.

    As `encoder_layer_backward`, with causal self-attention, and between it and the network the attention to the memory,
    whose keys and values pass gradients on to the memory.

    Shapes: x and grad_output (B, L, E), memory (B, S, E), padding_mask (B, L), memory_padding_mask (B, S); to
    (B, L, E), (B, S, E) and a record of the weights' shapes.
    Raises: ValueError as `decoder_layer` does, and when grad_output has not the shape of x.
    Source: Vaswani et al. 2017, sections 3.1 and 3.2.3, and Xiong et al. 2020, table 1, differentiated.
    Conventions: those of `encoder_layer_backward`.
    """
    sizes: Sizes = {}
    x = as_axes("x", x, "B L E", sizes)
    memory = as_axes("memory", memory, "B S E", sizes)
    mask = keys_only(padding_mask, "padding_mask", sizes["B"], sizes["L"])
    memory_mask = keys_only(memory_padding_mask, "memory_padding_mask", sizes["B"], sizes["S"])
    sublayers = (
        _self_attention(weights.norm_1, weights.self_attention, num_heads, mask, causal=True),
        _cross_attention(weights.norm_2, weights.cross_attention, memory, num_heads, memory_mask),
        _network(weights.norm_3, weights.feed_forward, activation, gelu_form),
    )
    gradient = as_grad_output(grad_output, x.shape)
    grad_x, ((attention, norm_1), ((cross, grad_memory), norm_2), (network, norm_3)) = _through(
        x, sublayers, Norms(eps, eps_placement, norm_first), gradient
    )
    return grad_x, grad_memory, DecoderLayerWeights(attention, norm_1, cross, norm_2, network, norm_3)


def _through(
    x: Stream, sublayers: Sequence[Sublayer], norms: Norms, gradient: Stream
) -> tuple[Stream, list[tuple[Any, NormWeights]]]:
    """Return the gradient of the stream, and for each sublayer those of its weights and of its norm."""
    streams = [x]
    for sublayer in sublayers[:-1]:
        y = streams[-1]
        if norms.norm_first:
            streams.append(np.asarray(y + sublayer.forward(norms.forward(y, sublayer.norm))))
        else:
            streams.append(norms.forward(np.asarray(y + sublayer.forward(y)), sublayer.norm))
    found = []
    for sublayer, y in zip(reversed(sublayers), reversed(streams), strict=True):
        gradient, of_weights = _residual_backward(y, sublayer, norms, gradient)
        found.append(of_weights)
    return gradient, found[::-1]


def _residual_backward(
    x: Stream, sublayer: Sublayer, norms: Norms, gradient: Stream
) -> tuple[Stream, tuple[Any, NormWeights]]:
    if norms.norm_first:
        grad_normalised, of_weights = sublayer.backward(norms.forward(x, sublayer.norm), gradient)
        through, of_norm = norms.backward(x, sublayer.norm, grad_normalised)
        return np.asarray(gradient + through), (of_weights, of_norm)
    grad_sum, of_norm = norms.backward(np.asarray(x + sublayer.forward(x)), sublayer.norm, gradient)
    through, of_weights = sublayer.backward(x, grad_sum)
    return np.asarray(grad_sum + through), (of_weights, of_norm)


def _self_attention(
    norm: HasNormWeights,
    weights: HasMultiHeadWeights,
    num_heads: int,
    mask: Bool[Array, "B 1 1 L"] | None,
    *,
    causal: bool,
) -> Sublayer:
    settings: dict[str, Any] = {"num_heads": num_heads, "mask": mask, "is_causal": causal}

    def backward(y: Stream, gradient: Stream) -> tuple[Stream, Any]:
        of_queries, of_context, of_weights = multi_head_attention_backward(y, y, weights, gradient, **settings)
        return np.asarray(of_queries + of_context), of_weights

    return Sublayer(norm, lambda y: multi_head_attention(y, y, weights, **settings), backward)


def _cross_attention(
    norm: HasNormWeights,
    weights: HasMultiHeadWeights,
    memory: Float64[Array, "B S E"],
    num_heads: int,
    mask: Bool[Array, "B 1 1 S"] | None,
) -> Sublayer:
    settings: dict[str, Any] = {"num_heads": num_heads, "mask": mask}

    def backward(y: Stream, gradient: Stream) -> tuple[Stream, Any]:
        of_queries, of_memory, of_weights = multi_head_attention_backward(y, memory, weights, gradient, **settings)
        return of_queries, (of_weights, of_memory)

    return Sublayer(norm, lambda y: multi_head_attention(y, memory, weights, **settings), backward)


def _network(norm: HasNormWeights, weights: Any, activation: Activation, gelu_form: GeluForm) -> Sublayer:
    settings: dict[str, Any] = {"activation": activation, "gelu_form": gelu_form}
    return Sublayer(
        norm,
        lambda y: feed_forward(y, weights, **settings),
        lambda y, gradient: feed_forward_backward(y, weights, gradient, **settings),
    )
