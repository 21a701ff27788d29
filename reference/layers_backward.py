"""The backward passes of encoder and decoder layers."""

from __future__ import annotations

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
from veriformer.reference.sublayers_backward import Differentiable, Stream, Sublayer, through_sublayers
from veriformer.reference.weights import HasMultiHeadWeights


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
        Sublayer(
            _norm(weights.norm_1, eps, eps_placement),
            _self_attention(weights.self_attention, num_heads, mask, causal=False),
        ),
        Sublayer(_norm(weights.norm_2, eps, eps_placement), _network(weights.feed_forward, activation, gelu_form)),
    )
    gradient = as_grad_output(grad_output, x.shape)
    grad_x, found = through_sublayers(x, sublayers, gradient, norm_first=norm_first)
    (attention, norm_1), (network, norm_2) = found
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
    functions = (
        _self_attention(weights.self_attention, num_heads, mask, causal=True),
        _cross_attention(weights.cross_attention, memory, num_heads, memory_mask),
        _network(weights.feed_forward, activation, gelu_form),
    )
    norms = (_norm(one, eps, eps_placement) for one in (weights.norm_1, weights.norm_2, weights.norm_3))
    sublayers = [Sublayer(norm, function) for norm, function in zip(norms, functions, strict=True)]
    gradient = as_grad_output(grad_output, x.shape)
    grad_x, found = through_sublayers(x, sublayers, gradient, norm_first=norm_first)
    (attention, norm_1), ((cross, grad_memory), norm_2), (network, norm_3) = found
    return grad_x, grad_memory, DecoderLayerWeights(attention, norm_1, cross, norm_2, network, norm_3)


def _norm(weights: HasNormWeights, eps: float, eps_placement: EpsPlacement) -> Differentiable:
    settings: dict[str, Any] = {"eps": eps, "eps_placement": eps_placement}

    def backward(y: Stream, gradient: Stream) -> tuple[Stream, NormWeights]:
        of_y, gain, shift = layer_norm_backward(y, weights.gamma, weights.beta, gradient, **settings)
        return of_y, NormWeights(gain, shift)

    return Differentiable(lambda y: layer_norm(y, weights.gamma, weights.beta, **settings), backward)


def _self_attention(
    weights: HasMultiHeadWeights,
    num_heads: int,
    mask: Bool[Array, "B 1 1 L"] | None,
    *,
    causal: bool,
) -> Differentiable:
    settings: dict[str, Any] = {"num_heads": num_heads, "mask": mask, "is_causal": causal}

    def backward(y: Stream, gradient: Stream) -> tuple[Stream, Any]:
        of_queries, of_context, of_weights = multi_head_attention_backward(y, y, weights, gradient, **settings)
        return np.asarray(of_queries + of_context), of_weights

    return Differentiable(lambda y: multi_head_attention(y, y, weights, **settings), backward)


def _cross_attention(
    weights: HasMultiHeadWeights,
    memory: Float64[Array, "B S E"],
    num_heads: int,
    mask: Bool[Array, "B 1 1 S"] | None,
) -> Differentiable:
    settings: dict[str, Any] = {"num_heads": num_heads, "mask": mask}

    def backward(y: Stream, gradient: Stream) -> tuple[Stream, Any]:
        of_queries, of_memory, of_weights = multi_head_attention_backward(y, memory, weights, gradient, **settings)
        return of_queries, (of_weights, of_memory)

    return Differentiable(lambda y: multi_head_attention(y, memory, weights, **settings), backward)


def _network(weights: Any, activation: Activation, gelu_form: GeluForm) -> Differentiable:
    settings: dict[str, Any] = {"activation": activation, "gelu_form": gelu_form}
    return Differentiable(
        lambda y: feed_forward(y, weights, **settings),
        lambda y, gradient: feed_forward_backward(y, weights, gradient, **settings),
    )
