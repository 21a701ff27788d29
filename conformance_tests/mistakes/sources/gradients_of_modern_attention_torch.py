"""Attention with soft cap, bias, window and sinks in PyTorch, with a backward pass of its own."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")
conventions = {"window_counting": "inclusive"}


def attended(query, key, mask, bias, is_causal, scale, window, softcap, sinks):
    """Return the weights with those of the sinks behind them, and the tanh of the logits where they are capped."""
    logits, bent = (scale * query) @ key.transpose(-1, -2), None
    if softcap:
        bent = torch.tanh(logits / softcap)
        logits = softcap * bent
    if bias is not None:
        logits = logits + bias
    visible = logits != float("-inf")
    if mask is not None:
        visible = visible & mask
    distance = torch.arange(key.shape[2]) - torch.arange(query.shape[2])[:, None]
    if is_causal:
        visible = visible & (distance <= 0)
    if window is not None:
        left, right = (None if side in (None, -1) else side for side in window)
        visible = visible if left is None else visible & (distance >= -left)
        visible = visible if right is None else visible & (distance <= right)
    logits = logits.masked_fill(~visible, float("-inf"))
    if sinks is not None:
        column = sinks[:, None, None].expand(*logits.shape[:3], 1)
        return torch.softmax(torch.cat([logits, column], dim=-1), dim=-1).split((key.shape[2], 1), dim=-1), bent
    # A row without a visible key has no weight at all; softmax alone would make it NaN.
    return (torch.softmax(logits, dim=-1).masked_fill(~visible, 0.0), None), bent


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(context, query, key, value, *settings):
        context.save_for_backward(query, key, value)
        context.settings = settings
        (weights, _), _ = attended(query, key, *settings)
        return weights @ value

    @staticmethod
    def backward(context, grad_output):
        query, key, value = context.saved_tensors
        mask, bias, is_causal, scale, window, softcap, sinks = context.settings
        (weights, rest), bent = attended(query, key, mask, bias, is_causal, scale, window, softcap, sinks)
        grad_value = weights.transpose(-1, -2) @ grad_output
        grad_weights = grad_output @ value.transpose(-1, -2)
        average = (weights * grad_weights).sum(dim=-1, keepdim=True)
        grad_logits = weights * (grad_weights - average)
        grad_sinks = None if rest is None else -(rest * average).sum(dim=(0, 2, 3))
        if bent is not None:
            grad_logits = grad_logits * (1 - bent**2)
        grad_query = scale * (grad_logits @ key)
        grad_key = scale * (grad_logits.transpose(-1, -2) @ query)
        # The bias is a constant here.
        return grad_query, grad_key, grad_value, *[None] * 6, grad_sinks


def scaled_dot_product_attention(
    query, key, value, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return Attention.apply(query, key, value, mask, bias, is_causal, scale, window, softcap, sinks)
