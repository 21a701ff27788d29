"""Grouped-query attention in PyTorch with a backward pass of its own, which computes the weights again."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")


def attended(query, key, mask, is_causal, scale):
    """Return the weights of all query heads, (B, G, H/G, L, S)."""
    grouped = query.unflatten(1, (key.shape[1], -1))
    logits = (scale * grouped) @ key.unsqueeze(2).transpose(-1, -2)
    visible = torch.ones(query.shape[:3] + key.shape[2:3], dtype=torch.bool)
    if mask is not None:
        visible = visible & mask
    if is_causal:
        visible = visible.tril()
    visible = visible.unflatten(1, (key.shape[1], -1))
    # A row without a visible key has no weight at all; softmax alone would make it NaN.
    return torch.softmax(logits.masked_fill(~visible, float("-inf")), dim=-1).masked_fill(~visible, 0.0)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(context, query, key, value, mask, is_causal, scale):
        context.save_for_backward(query, key, value, mask)
        context.settings = is_causal, scale
        return (attended(query, key, mask, is_causal, scale) @ value.unsqueeze(2)).flatten(1, 2)

    @staticmethod
    def backward(context, grad_output):
        query, key, value, mask = context.saved_tensors
        is_causal, scale = context.settings
        weights = attended(query, key, mask, is_causal, scale)
        grad_output = grad_output.unflatten(1, (key.shape[1], -1))
        grad_weights = grad_output @ value.unsqueeze(2).transpose(-1, -2)
        grad_logits = weights * (grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True))
        grad_query = scale * (grad_logits @ key.unsqueeze(2)).flatten(1, 2)
        queries = query.unflatten(1, (key.shape[1], -1))
        grad_key = scale * (grad_logits.transpose(-1, -2) @ queries).sum(dim=2)
        grad_value = (weights.transpose(-1, -2) @ grad_output).sum(dim=2)
        return grad_query, grad_key, grad_value, None, None, None


def grouped_query_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    return Attention.apply(query, key, value, mask, is_causal, query.shape[-1] ** -0.5 if scale is None else scale)
