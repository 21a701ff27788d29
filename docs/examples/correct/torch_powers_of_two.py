"""Exponentials to the base 2 with log₂ e in the scale, in PyTorch, as FlashAttention does; empty rows give zeros."""

import torch

framework = "torch"
dtypes = ("float64", "float32", "bfloat16", "float16")
LOG2_E = 1.4426950408889634


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    wide = torch.promote_types(query.dtype, torch.float32)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = (query.to(wide) @ key.to(wide).mT) * (scale * LOG2_E)
    if bias is not None:
        logits = logits + bias.to(wide) * LOG2_E
    keep = torch.ones(logits.shape[-2:], dtype=torch.bool)
    keep = keep.tril() if is_causal else keep
    keep = keep if mask is None else keep & mask
    logits = logits.masked_fill(~keep, -torch.inf)
    highest = logits.amax(-1, keepdim=True)
    powers = torch.exp2(logits - highest.masked_fill(highest == -torch.inf, 0.0))
    total = powers.sum(-1, keepdim=True)
    return (powers @ value.to(wide) / total.masked_fill(total == 0, 1.0)).to(query.dtype)
