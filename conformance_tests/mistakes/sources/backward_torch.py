"""The backward pass of attention, written by hand in PyTorch."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")


def scaled_dot_product_attention_backward(query, key, value, grad_output, *, mask=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = scale * (query @ key.transpose(-1, -2))
    visible = torch.ones_like(logits, dtype=torch.bool)
    if mask is not None:
        visible = visible & mask
    if is_causal:
        visible = visible.tril()
    # A row without a visible key has no weight at all; softmax alone would make it NaN.
    weights = torch.softmax(logits.masked_fill(~visible, float("-inf")), dim=-1).masked_fill(~visible, 0.0)
    grad_value = weights.transpose(-1, -2) @ grad_output
    grad_weights = grad_output @ value.transpose(-1, -2)
    grad_logits = weights * (grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True))
    grad_query = scale * (grad_logits @ key)
    grad_key = scale * (grad_logits.transpose(-1, -2) @ query)
    return grad_query, grad_key, grad_value
