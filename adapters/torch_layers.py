"""PyTorch's encoder and decoder layers, in evaluation mode.

Without gradients the encoder layer takes a path of its own where it can: fused, from contiguous weights with biases, an
even number of heads, and ReLU or GELU.

Source: torch.nn.TransformerEncoderLayer and torch.nn.TransformerDecoderLayer in PyTorch's documentation.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from veriformer.adapters.torch_multi_head import attention_state, loaded, or_zeros

Tensor = Any

# The layers know "relu" and "gelu" by name; anything else is handed over as a function.
_ACTIVATIONS: dict[str, Any] = {"relu": "relu", "gelu": "gelu", "silu": functional.silu}


def encoder_layer(
    x: Tensor,
    weights: Any,
    *,
    num_heads: int,
    norm_first: bool,
    activation: str,
    eps: float,
    padding_mask: Tensor | None = None,
) -> Tensor:
    """Let every position attend to all real ones, then transform each alone: torch.nn.TransformerEncoderLayer."""
    sublayers = {"self_attn": weights.self_attention}
    layer = layer_module(torch.nn.TransformerEncoderLayer, weights, sublayers, num_heads, norm_first, activation, eps)
    return layer(x, src_key_padding_mask=torch_padding(padding_mask))


def decoder_layer(
    x: Tensor,
    memory: Tensor,
    weights: Any,
    *,
    num_heads: int,
    norm_first: bool,
    activation: str,
    eps: float,
    padding_mask: Tensor | None = None,
    memory_padding_mask: Tensor | None = None,
) -> Tensor:
    """Let every position attend to the real ones that are not later, then to a memory: nn.TransformerDecoderLayer."""
    sublayers = {"self_attn": weights.self_attention, "multihead_attn": weights.cross_attention}
    layer = layer_module(torch.nn.TransformerDecoderLayer, weights, sublayers, num_heads, norm_first, activation, eps)
    return layer(
        x,
        memory,
        tgt_mask=later_positions(x),
        tgt_key_padding_mask=torch_padding(padding_mask),
        memory_key_padding_mask=torch_padding(memory_padding_mask),
        tgt_is_causal=True,
    )


def layer_module(
    kind: Any, weights: Any, attentions: dict[str, Any], num_heads: int, norm_first: bool, activation: str, eps: float
) -> Any:
    """Return torch's layer of the given kind with the given weights, in evaluation mode."""
    return loaded(*layer_and_state(kind, weights, attentions, num_heads, norm_first, activation, eps))


def layer_and_state(
    kind: Any, weights: Any, attentions: dict[str, Any], num_heads: int, norm_first: bool, activation: str, eps: float
) -> tuple[Any, dict[str, Tensor]]:
    """Return torch's layer of the given kind, without memory, and its parameters by their names."""
    network = weights.feed_forward
    # Without biases torch's norms would have no shift, which the interface always gives them.
    # Made without memory, so that no random initial weights are drawn from the caller's generator.
    layer = kind(
        network.w_1.shape[0],
        num_heads,
        network.w_1.shape[1],
        dropout=0.0,
        activation=_ACTIVATIONS[activation],
        layer_norm_eps=eps,
        batch_first=True,
        norm_first=norm_first,
        device="meta",
        dtype=network.w_1.dtype,
    )
    return layer, _state(weights, attentions)


def _state(weights: Any, attentions: dict[str, Any]) -> dict[str, Tensor]:
    network = weights.feed_forward
    state = {
        "linear1.weight": network.w_1.T.contiguous(),
        "linear1.bias": or_zeros(network.b_1, network.w_1),
        "linear2.weight": network.w_2.T.contiguous(),
        "linear2.bias": or_zeros(network.b_2, network.w_2),
    }
    for name, attention in attentions.items():
        state |= {f"{name}.{key}": value for key, value in attention_state(attention, biased=True).items()}
    for number in range(1, len(attentions) + 2):
        norm = getattr(weights, f"norm_{number}")
        state |= {f"norm{number}.weight": norm.gamma, f"norm{number}.bias": norm.beta}
    return state


def later_positions(x: Tensor) -> Tensor:
    """Return torch's causal mask for x (B, L, E), on its device: True at the keys that come later."""
    length = x.shape[1]
    return torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)


def torch_padding(padding_mask: Tensor | None) -> Tensor | None:
    """Return torch's polarity: True at what is padded."""
    return None if padding_mask is None else ~padding_mask
