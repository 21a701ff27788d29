"""torch.nn.MultiheadAttention asked for its weights: then it multiplies matrices itself instead of calling a kernel."""

from __future__ import annotations

from typing import Any

from veriformer.adapters import torch
from veriformer.adapters.torch_multi_head import mask_per_head, multi_head_layer, without_fast_path

Tensor = Any

framework = "torch"
# float16 is left out: it holds the logits in the inputs' dtype, and float16 ends at 65504. See docs/findings.md.
dtypes = ("float32", "float64", "bfloat16")
conventions = torch.conventions
limitations = torch.limitations


def multi_head_attention(
    x: Tensor, context: Tensor, weights: Any, *, num_heads: int, mask: Tensor | None = None
) -> Tensor:
    """Attend in several learned subspaces at once with need_weights=True, the fast path switched off."""
    layer = multi_head_layer(weights, num_heads)
    with without_fast_path():
        output, _ = layer(x, context, context, need_weights=True, attn_mask=mask_per_head(mask, num_heads, x, context))
    return output
