"""The backward passes of encoder and decoder layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
from veriformer.reference.masks import causal_mask
from veriformer.reference.multi_head import multi_head_attention
from veriformer.reference.multi_head_backward import multi_head_attention_backward
from veriformer.reference.normalisation import layer_norm
from veriformer.reference.normalisation_backward import layer_norm_backward
from veriformer.reference.sublayers_backward import (
    Differentiable,
    Memory,
    Stream,
    by_context,
    decoder_layer_back,
    encoder_layer_back,
    through_decoder_layer,
    through_encoder_layer,
)
from veriformer.reference.weights import HasFeedForwardWeights, HasMultiHeadWeights


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
    parts = _Parts(num_heads, norm_first, activation, eps, gelu_form, eps_placement)
    gradient = as_grad_output(grad_output, x.shape)
    grad_x, found = encoder_layer_back(through_encoder_layer(parts, x, weights, mask), gradient)
    return grad_x, EncoderLayerWeights(*found)


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
    keys = keys_only(padding_mask, "padding_mask", sizes["B"], sizes["L"])
    causal = causal_mask(sizes["L"], sizes["L"])
    own = causal if keys is None else causal & keys
    read = keys_only(memory_padding_mask, "memory_padding_mask", sizes["B"], sizes["S"])
    parts = _Parts(num_heads, norm_first, activation, eps, gelu_form, eps_placement)
    gradient = as_grad_output(grad_output, x.shape)
    return decoder_layer_back(through_decoder_layer(parts, x, memory, weights, (own, read)), gradient)


@dataclass(frozen=True)
class _Parts:
    num_heads: int
    norm_first: bool
    activation: Activation
    eps: float
    gelu_form: GeluForm
    eps_placement: EpsPlacement

    def norm(self, weights: HasNormWeights) -> Differentiable:
        settings: dict[str, Any] = {"eps": self.eps, "eps_placement": self.eps_placement}

        def backward(y: Stream, gradient: Stream) -> tuple[Stream, NormWeights]:
            of_y, gain, shift = layer_norm_backward(y, weights.gamma, weights.beta, gradient, **settings)
            return of_y, NormWeights(gain, shift)

        return Differentiable(lambda y: layer_norm(y, weights.gamma, weights.beta, **settings), backward)

    def network(self, weights: HasFeedForwardWeights) -> Differentiable:
        settings: dict[str, Any] = {"activation": self.activation, "gelu_form": self.gelu_form}
        return Differentiable(
            lambda y: feed_forward(y, weights, **settings),
            lambda y, gradient: feed_forward_backward(y, weights, gradient, **settings),
        )

    def attention(self, weights: HasMultiHeadWeights, mask: Any, memory: Memory | None = None) -> Differentiable:
        settings: dict[str, Any] = {"num_heads": self.num_heads, "mask": mask}

        def forward(y: Stream) -> Stream:
            return multi_head_attention(y, y if memory is None else memory, weights, **settings)

        def backward(y: Stream, gradient: Stream) -> tuple[Stream, Any]:
            context = y if memory is None else memory
            return by_context(memory, multi_head_attention_backward(y, context, weights, gradient, **settings))

        return Differentiable(forward, backward)
