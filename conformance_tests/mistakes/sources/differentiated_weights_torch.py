"""The weights of attention in PyTorch, which gradients flow back through."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")


def attention_weights(query, key, *, mask=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = query * scale @ key.transpose(-1, -2)
    visible = torch.ones_like(logits, dtype=torch.bool) if mask is None else mask.expand(logits.shape)
    if is_causal:
        visible = visible.tril()
    shown = visible.any(dim=-1, keepdim=True)
    # A row without a visible key is left alone and dropped afterwards: softmax of nothing has a NaN gradient.
    weights = torch.softmax(logits.masked_fill(~visible & shown, float("-inf")), dim=-1)
    return weights * shown
