"""PyTorch's own operations as an implementation; what PyTorch does not have is not declared.

What a query without a visible key gets, and what NaN behind a mask does, depends on the kernel that PyTorch picks and
is left to be found out.

Source: torch.nn.MultiheadAttention, TransformerEncoderLayer and TransformerDecoderLayer and, of torch.nn.functional,
scaled_dot_product_attention, layer_norm, rms_norm, gelu, silu, dropout, embedding and cross_entropy, in PyTorch's
documentation; those of `torch_training`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from veriformer.adapters.torch_layers import decoder_layer, encoder_layer
from veriformer.adapters.torch_models import ARCHITECTURES, encoder, encoder_decoder, language_model
from veriformer.adapters.torch_multi_head import mask_per_head, multi_head_layer, without_fast_path
from veriformer.adapters.torch_training import adamw_step, clip_by_global_norm

__all__ = [
    "adamw_step",
    "clip_by_global_norm",
    "decoder_layer",
    "encoder",
    "encoder_decoder",
    "encoder_layer",
    "language_model",
]

Tensor = Any

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")
conventions = {
    "mask_polarity": "true_attends",
    "multi_head_attention.mask_polarity": "true_is_masked",
    "causal_alignment": "top_left",
    "causal_with_mask": "rejects",
    "layout": "bhld",
    "kv_grouping": "repeat_each",
    "layer_norm_eps": "inside_root",
    "rms_norm_gain": "gamma",
    "gelu_form": "erf",
    "adamw_eps": "after_correction",
    "adamw_decay": "times_learning_rate",
    "clip_norm_eps": "1e-6",
}
# Padding on the left leaves the first queries of a causal mask without a key: they become NaN, and in the next layer
# NaN times a weight of 0 reaches every query.
limitations = ("multi_head_attention.value_width", "language_model.left_padding")
architectures = ARCHITECTURES


def softmax(x: Tensor) -> Tensor:
    """Turn each row of logits into a probability distribution."""
    return functional.softmax(x, dim=-1)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Average the values, weighted by how well each key matches the query."""
    attn_mask = _attn_mask(mask, bias, is_causal)
    return functional.scaled_dot_product_attention(
        query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale
    )


def grouped_query_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Attend with several query heads to each key/value head."""
    attn_mask = _attn_mask(mask, bias, is_causal)
    return functional.scaled_dot_product_attention(
        query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale, enable_gqa=True
    )


def multi_head_attention(
    x: Tensor, context: Tensor, weights: Any, *, num_heads: int, mask: Tensor | None = None
) -> Tensor:
    """Attend in several learned subspaces at once, with torch.nn.MultiheadAttention in evaluation mode.

    Without its fast path, which treats queries that see no key otherwise: that is the variant torch-fast-path.
    """
    layer = multi_head_layer(weights, num_heads)
    attn_mask = mask_per_head(mask, num_heads, x, context)
    with without_fast_path():
        output, _ = layer(x, context, context, need_weights=False, attn_mask=attn_mask)
    return output


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    """Bring each vector to zero mean and unit variance, then scale and shift it."""
    return functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def layer_norm_backward(
    x: Tensor, gamma: Tensor, beta: Tensor, grad_output: Tensor, *, eps: float
) -> tuple[Tensor, ...]:
    """Go back through `layer_norm` with autograd, in float32 at least.

    On the CPU PyTorch adds up the gradients of gain and shift in 16 bits if these have 16 (docs/findings.md). The
    variant torch-modules differentiates in the dtype that is given.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    with torch.enable_grad():
        leaves = [given.detach().to(wide).requires_grad_() for given in (x, gamma, beta)]
        result = layer_norm(*leaves, eps=eps)
    gradients = torch.autograd.grad(result, leaves, grad_output.to(wide))
    return tuple(gradient.to(x.dtype) for gradient in gradients)


def token_embedding(tokens: Tensor, table: Tensor) -> Tensor:
    """Look up the vector of each token; torch does not scale it."""
    return functional.embedding(tokens, table)


def cross_entropy(
    logits: Tensor,
    targets: Tensor,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """Average how improbable the model found the tokens that came; torch ignores −100 unless told otherwise."""
    loss = functional.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction=reduction,
    )
    return loss.view(targets.shape) if reduction == "none" else loss


def rms_norm(x: Tensor, gamma: Tensor, *, eps: float) -> Tensor:
    """Bring each vector to unit root mean square, then scale it."""
    return functional.rms_norm(x, x.shape[-1:], gamma, eps)


def gelu(x: Tensor) -> Tensor:
    """Weigh each entry by the normal distribution function: torch's default form."""
    return functional.gelu(x)


def silu(x: Tensor) -> Tensor:
    """Weigh each entry by its own logistic function."""
    return functional.silu(x)


def dropout(x: Tensor, *, rate: float, seed: int, training: bool = True) -> Tensor:
    """Replace entries by zero at random and scale the others up; the seed is torch's, which is put back afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return functional.dropout(x, rate, training)


def _attn_mask(mask: Tensor | None, bias: Tensor | None, is_causal: bool) -> Tensor | None:
    """Join mask and bias to torch's one argument: bool, or added to the logits.

    ValueError together with is_causal: torch documents an error, which depends on the kernel.
    """
    if is_causal and not (mask is None and bias is None):
        raise ValueError("torch refuses attn_mask together with is_causal; put the causal mask into attn_mask")
    if mask is None or bias is None:
        return bias if mask is None else mask
    return torch.where(mask, bias, float("-inf"))
