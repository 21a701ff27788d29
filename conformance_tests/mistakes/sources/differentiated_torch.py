"""A correct attention in PyTorch that gradients flow back through; the tests change one line at a time."""

import torch

framework = "torch"


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = query @ key.transpose(-1, -2) * scale
    visible = torch.ones_like(logits, dtype=torch.bool) if mask is None else mask.expand(logits.shape)
    if is_causal:
        visible = visible.tril()
    shown = visible.any(dim=-1, keepdim=True)
    # A row without a visible key is left alone and dropped afterwards: softmax of nothing has a NaN gradient.
    weights = torch.softmax(logits.masked_fill(~visible & shown, float("-inf")), dim=-1)
    return (weights * shown) @ value
