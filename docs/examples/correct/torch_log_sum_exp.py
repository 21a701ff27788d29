"""Weights from torch.logsumexp, in PyTorch; empty rows give NaN."""

import torch

framework = "torch"
dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = torch.einsum("bhld,bhsd->bhls", query * scale, key)
    if bias is not None:
        logits = logits + bias
    if is_causal:
        logits = logits.masked_fill(torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    if mask is not None:
        logits = torch.where(mask, logits, -torch.inf)
    # In 16 bits the logarithm of the normaliser would be too coarse.
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    weights = torch.exp(wide - torch.logsumexp(wide, dim=-1, keepdim=True))
    return torch.einsum("bhls,bhsd->bhld", weights.to(query.dtype), value)
