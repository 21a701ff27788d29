"""Attention whose gradients come from autograd, called inside the backward operation itself."""

import torch

framework = "torch"
dtypes = ("float32", "float64")


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    scale = query.size(-1) ** -0.5 if scale is None else scale
    scores = torch.einsum("bhld,bhsd->bhls", query, key) * scale
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    return torch.einsum("bhls,bhsd->bhld", scores.softmax(-1), value)


def scaled_dot_product_attention_backward(query, key, value, grad_output, *, mask=None, is_causal=False, scale=None):
    leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
    output = scaled_dot_product_attention(*leaves, mask=mask, is_causal=is_causal, scale=scale)
    return torch.autograd.grad(output, leaves, grad_output)
