"""The backward pass of attention's weights, written by hand in PyTorch."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")
conventions = {"window_counting": "inclusive"}


def attention_weights_backward(
    query, key, grad_output, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits, bent = scale * (query @ key.transpose(-1, -2)), None
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
        weights = torch.softmax(torch.cat([logits, column], dim=-1), dim=-1)[..., :-1]
    else:
        # A row without a visible key has no weight at all; softmax alone would make it NaN.
        weights = torch.softmax(logits, dim=-1).masked_fill(~visible, 0.0)
    grad_logits = weights * (grad_output - (weights * grad_output).sum(dim=-1, keepdim=True))
    if bent is not None:
        grad_logits = grad_logits * (1 - bent**2)
    grad_query = scale * (grad_logits @ key)
    grad_key = scale * (grad_logits.transpose(-1, -2) @ query)
    return grad_query, grad_key
