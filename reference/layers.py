"""Encoder and decoder layers: sublayers with a residual connection and a normalisation each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.checks import Sizes, as_axes
from veriformer.reference.conventions import Activation, EpsPlacement, GeluForm
from veriformer.reference.feed_forward import feed_forward
from veriformer.reference.layer_weights import HasDecoderLayerWeights, HasEncoderLayerWeights, HasNormWeights
from veriformer.reference.multi_head import multi_head_attention
from veriformer.reference.normalisation import layer_norm

Transformation = Callable[[Float64[Array, "B L E"]], Float64[Array, "B L E"]]


def residual(
    x: Float[Array, "B L E"], norm: Transformation, sublayer: Transformation, *, norm_first: bool
) -> Float64[Array, "B L E"]:
    """Add a sublayer's result to its input, with a normalisation before the sublayer or after the sum.

    y = x + sublayer(norm(x))     norm_first (pre-norm)
    y = norm(x + sublayer(x))     otherwise (post-norm)

    Shapes: x (B, L, E), to (B, L, E).
    Raises: what the norm and the sublayer raise.
    Source: Vaswani et al. 2017, section 3.1 (post-norm); Xiong et al. 2020, table 1 (both).
    """
    if norm_first:
        return np.asarray(x + sublayer(norm(x)))
    return norm(x + sublayer(x))


def encoder_layer(
    x: Float[Array, "B L E"],
    weights: HasEncoderLayerWeights,
    *,
    num_heads: int,
    norm_first: bool,
    activation: Activation,
    eps: float,
    padding_mask: Bool[Array, "B L"] | None = None,
    gelu_form: GeluForm = "erf",
    eps_placement: EpsPlacement = "inside_root",
) -> Float64[Array, "B L E"]:
    """Let every position attend to all real ones, then transform each alone.

    y = residual(x, norm_1, self-attention), output = residual(y, norm_2, feed-forward)

    Padded positions of the output have no meaning.

    Shapes: x (B, L, E), padding_mask (B, L), True at real tokens, to (B, L, E).
    Raises: ValueError when a weight or the mask does not fit, or a convention's value is unknown.
    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020, table 1 (norm_first).
    Conventions: gelu_form, layer_norm_eps.
    """
    sizes: Sizes = {}
    x = as_axes("x", x, "B L E", sizes)
    mask = keys_only(padding_mask, "padding_mask", sizes["B"], sizes["L"])

    def attend(y: Float64[Array, "B L E"]) -> Float64[Array, "B L E"]:
        return multi_head_attention(y, y, weights.self_attention, num_heads=num_heads, mask=mask)

    def transform(y: Float64[Array, "B L E"]) -> Float64[Array, "B L E"]:
        return feed_forward(y, weights.feed_forward, activation=activation, gelu_form=gelu_form)

    x = residual(x, _norm(weights.norm_1, eps, eps_placement), attend, norm_first=norm_first)
    return residual(x, _norm(weights.norm_2, eps, eps_placement), transform, norm_first=norm_first)


def decoder_layer(
    x: Float[Array, "B L E"],
    memory: Float[Array, "B S E"],
    weights: HasDecoderLayerWeights,
    *,
    num_heads: int,
    norm_first: bool,
    activation: Activation,
    eps: float,
    padding_mask: Bool[Array, "B L"] | None = None,
    memory_padding_mask: Bool[Array, "B S"] | None = None,
    gelu_form: GeluForm = "erf",
    eps_placement: EpsPlacement = "inside_root",
) -> Float64[Array, "B L E"]:
    """Let every position attend to the real ones that are not later, then to the memory, then transform each alone.

    y = residual(x, norm_1, causal self-attention), z = residual(y, norm_2, attention to the memory),
    output = residual(z, norm_3, feed-forward)

    Shapes: x (B, L, E), memory (B, S, E), padding_mask (B, L), memory_padding_mask (B, S), to (B, L, E).
    Raises: ValueError when a weight, the memory or a mask does not fit, or a convention's value is unknown.
    Source: Vaswani et al. 2017, sections 3.1 and 3.2.3; Xiong et al. 2020, table 1 (norm_first).
    Conventions: gelu_form, layer_norm_eps.
    """
    sizes: Sizes = {}
    x = as_axes("x", x, "B L E", sizes)
    memory = as_axes("memory", memory, "B S E", sizes)
    mask = keys_only(padding_mask, "padding_mask", sizes["B"], sizes["L"])
    memory_mask = keys_only(memory_padding_mask, "memory_padding_mask", sizes["B"], sizes["S"])

    def attend(y: Float64[Array, "B L E"]) -> Float64[Array, "B L E"]:
        return multi_head_attention(y, y, weights.self_attention, num_heads=num_heads, mask=mask, is_causal=True)

    def look_up(y: Float64[Array, "B L E"]) -> Float64[Array, "B L E"]:
        return multi_head_attention(y, memory, weights.cross_attention, num_heads=num_heads, mask=memory_mask)

    def transform(y: Float64[Array, "B L E"]) -> Float64[Array, "B L E"]:
        return feed_forward(y, weights.feed_forward, activation=activation, gelu_form=gelu_form)

    x = residual(x, _norm(weights.norm_1, eps, eps_placement), attend, norm_first=norm_first)
    x = residual(x, _norm(weights.norm_2, eps, eps_placement), look_up, norm_first=norm_first)
    return residual(x, _norm(weights.norm_3, eps, eps_placement), transform, norm_first=norm_first)


def _norm(weights: HasNormWeights, eps: float, eps_placement: EpsPlacement) -> Transformation:
    return lambda x: layer_norm(x, weights.gamma, weights.beta, eps=eps, eps_placement=eps_placement)


def keys_only(
    padding_mask: Bool[Array, "B S"] | None, name: str, batch: int, length: int
) -> Bool[Array, "B 1 1 S"] | None:
    """Return a padding mask as one that hides keys from every head and query.

    Shapes: (B, S), True at real tokens, to (B, 1, 1, S); None to None.
    Raises: ValueError when it is not boolean, or has another shape than (batch, length).
    Source: Vaswani et al. 2017, section 3.2.3.
    """
    if padding_mask is None:
        return None
    mask = np.asarray(padding_mask)
    if mask.dtype != np.bool_ or mask.shape != (batch, length):
        raise ValueError(
            f"{name} must be boolean of shape {(batch, length)}, True at real tokens; "
            f"got dtype {mask.dtype} and shape {mask.shape}; pass padding_mask(lengths, max_length)"
        )
    return mask[:, None, None, :]
