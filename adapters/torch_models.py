"""PyTorch's stacks of layers as whole models: torch.nn.TransformerEncoder and TransformerDecoder in evaluation mode.

Around them stand torch.nn.functional.embedding, layer norms, and products with the transposed table. PyTorch has
neither sinusoids nor rotary positions nor a cache of keys and values: these are not declared.

Nested tensors are turned off: with them torch.nn.TransformerEncoder cuts off columns that are padding in every sample.

Source: torch.nn.TransformerEncoder and torch.nn.TransformerDecoder in PyTorch's documentation.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from veriformer.adapters.torch_layers import later_positions, layer_and_state, torch_padding
from veriformer.adapters.torch_multi_head import loaded

Tensor = Any

ARCHITECTURES = {"encoder": ("bert",), "encoder_decoder": ("bart",), "language_model": ("gpt",)}


def encoder(tokens: Tensor, weights: Any, config: Any, *, padding_mask: Tensor | None = None) -> Tensor:
    """Let every token see all real ones, layer after layer."""
    x = _embedded(tokens, weights.embedding, weights.positions, weights.embedding_norm, config)
    stack = _encoder(weights.layers, weights.final_norm, config)
    return stack(x, src_key_padding_mask=torch_padding(padding_mask))


def encoder_decoder(
    source: Tensor,
    target: Tensor,
    weights: Any,
    config: Any,
    *,
    source_padding_mask: Tensor | None = None,
    target_padding_mask: Tensor | None = None,
) -> Tensor:
    """Predict each next token of a target from those before it and from a source."""
    x = _embedded(source, weights.embedding, weights.encoder_positions, weights.encoder_embedding_norm, config)
    y = _embedded(target, weights.embedding, weights.decoder_positions, weights.decoder_embedding_norm, config)
    source_padding = torch_padding(source_padding_mask)
    memory = _encoder(weights.encoder_layers, weights.encoder_final_norm, config)(
        x, src_key_padding_mask=source_padding
    )
    output = _decoder(weights.decoder_layers, weights.decoder_final_norm, config)(
        y,
        memory,
        tgt_mask=later_positions(y),
        tgt_key_padding_mask=torch_padding(target_padding_mask),
        memory_key_padding_mask=source_padding,
        tgt_is_causal=True,
    )
    return output @ weights.embedding.T


def language_model(tokens: Tensor, weights: Any, config: Any, *, padding_mask: Tensor | None = None) -> Tensor:
    """Predict each next token from those before it: an encoder whose mask is causal."""
    x = _embedded(tokens, weights.embedding, weights.positions, weights.embedding_norm, config)
    output = _encoder(weights.layers, weights.final_norm, config)(
        x, mask=later_positions(x), src_key_padding_mask=torch_padding(padding_mask), is_causal=True
    )
    return output @ weights.embedding.T


def _embedded(tokens: Tensor, table: Tensor, positions: Tensor, norm: Any, config: Any) -> Tensor:
    x = functional.embedding(tokens, table) + positions[: tokens.shape[1]]
    return x if norm is None else functional.layer_norm(x, x.shape[-1:], norm.gamma, norm.beta, config.eps)


# A module without memory, and its parameters by their names.
Made = tuple[Any, dict[str, Tensor]]


def _encoder(layers: Any, norm: Any, config: Any) -> Any:
    made = [_layer(torch.nn.TransformerEncoderLayer, layer, config, "self_attention") for layer in layers]
    return _filled(torch.nn.TransformerEncoder(made[0][0], 0, enable_nested_tensor=False), made, norm, config)


def _decoder(layers: Any, norm: Any, config: Any) -> Any:
    names = ("self_attention", "cross_attention")
    made = [_layer(torch.nn.TransformerDecoderLayer, layer, config, *names) for layer in layers]
    return _filled(torch.nn.TransformerDecoder(made[0][0], 0), made, norm, config)


def _layer(kind: Any, weights: Any, config: Any, *attentions: str) -> Made:
    torch_names = ("self_attn", "multihead_attn")
    sublayers = {torch_name: getattr(weights, name) for torch_name, name in zip(torch_names, attentions, strict=False)}
    settings = config.num_heads, config.norm_first, config.activation, config.eps
    return layer_and_state(kind, weights, sublayers, *settings)


def _filled(stack: Any, made: list[Made], norm: Any, config: Any) -> Any:
    """Return the stack with its own layers, where torch would copy one layer many times, and with its final norm."""
    stack.layers = torch.nn.ModuleList(layer for layer, _ in made)
    stack.num_layers = len(made)
    state = {f"layers.{place}.{name}": tensor for place, (_, own) in enumerate(made) for name, tensor in own.items()}
    if norm is not None:
        stack.norm = torch.nn.LayerNorm(norm.gamma.shape[0], eps=config.eps, device="meta", dtype=norm.gamma.dtype)
        state |= {"norm.weight": norm.gamma, "norm.bias": norm.beta}
    return loaded(stack, state)
