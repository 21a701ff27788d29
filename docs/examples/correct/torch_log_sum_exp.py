"""Weights from torch.logsumexp, in PyTorch; empty rows give NaN."""

import torch

framework = "torch"


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = torch.einsum("bhld,bhsd->bhls", query, key) * scale
    if bias is not None:
        logits = logits + bias
    if is_causal:
        logits = logits.masked_fill(torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    if mask is not None:
        logits = torch.where(mask, logits, -torch.inf)
    weights = torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))
    return torch.einsum("bhls,bhsd->bhld", weights, value)
