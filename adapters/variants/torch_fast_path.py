"""torch.nn.MultiheadAttention on its evaluation fast path.

PyTorch takes that path in inference for self-attention (`context` is `x`) with an even number of heads in a layer with
biases; so the layer here always has biases, zeros where the weights have none. Any other call goes the usual way.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import inference_mode
from veriformer.adapters import torch
from veriformer.adapters.torch_multi_head import mask_per_head, multi_head_layer

Tensor = Any

framework = "torch"
dtypes = torch.dtypes
conventions = torch.conventions
limitations = torch.limitations


def multi_head_attention(
    x: Tensor, context: Tensor, weights: Any, *, num_heads: int, mask: Tensor | None = None
) -> Tensor:
    """Attend in several learned subspaces at once, in inference mode and with a layer that has biases."""
    attn_mask = mask_per_head(mask, num_heads, x, context)
    with inference_mode():
        layer = multi_head_layer(_with_biases(weights), num_heads)
        output, _ = layer(x, context, context, need_weights=False, attn_mask=attn_mask)
    return output


def _with_biases(weights: Any) -> SimpleNamespace:
    filled = SimpleNamespace(**vars(weights))
    if filled.b_o is None:
        filled.b_o = filled.w_o.new_zeros(filled.w_o.shape[1])
    return filled
