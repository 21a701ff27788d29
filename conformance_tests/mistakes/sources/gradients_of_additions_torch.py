"""Attention in PyTorch whose own backward pass returns the gradients of a bias and of sinks too."""

import torch

framework = "torch"
conventions = {"window_counting": "inclusive"}
dtypes = ("float32", "float64", "bfloat16", "float16")


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(context, query, key, value, bias, sinks, hidden, scale, softcap):
        scores = torch.einsum("bhld,bhsd->bhls", scale * query, key)
        bent = torch.tanh(scores / softcap) if softcap else None
        logits = scores if bent is None else softcap * bent
        logits = logits if bias is None else logits + bias
        logits = logits.masked_fill(hidden, float("-inf"))
        columns = logits
        if sinks is not None:
            columns = torch.cat([logits, sinks.view(1, -1, 1, 1).expand(*logits.shape[:3], 1)], dim=-1)
        shares = torch.softmax(columns, dim=-1)
        # Where no key is seen, softmax alone gives NaN.
        shares = shares.masked_fill(columns == float("-inf"), 0.0)
        weights = shares[..., : key.shape[2]]
        context.save_for_backward(query, key, value, weights, shares[..., key.shape[2] :], bias, bent)
        context.scale = scale
        return weights @ value

    @staticmethod
    def backward(context, grad_output):
        query, key, value, weights, rest, bias, bent = context.saved_tensors
        grad_value = weights.transpose(-1, -2) @ grad_output
        grad_weights = grad_output @ value.transpose(-1, -2)
        average = (weights * grad_weights).sum(dim=-1, keepdim=True)
        grad_logits = weights * (grad_weights - average)
        grad_bias = None if bias is None else grad_logits.sum_to_size(bias.shape)
        grad_sinks = -(rest * average).sum(dim=(0, 2, 3)) if rest.shape[-1] else None
        grad_scores = grad_logits if bent is None else grad_logits * (1 - bent * bent)
        grad_query = context.scale * (grad_scores @ key)
        grad_key = context.scale * (grad_scores.transpose(-1, -2) @ query)
        return grad_query, grad_key, grad_value, grad_bias, grad_sinks, None, None, None


def scaled_dot_product_attention(
    query, key, value, *, mask=None, bias=None, is_causal=False, scale=None, window=None, softcap=None, sinks=None
):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    hidden = torch.zeros((query.shape[2], key.shape[2]), dtype=torch.bool)
    ahead = torch.arange(key.shape[2]) - torch.arange(query.shape[2]).unsqueeze(-1)
    if is_causal:
        hidden = hidden | (ahead > 0)
    if window is not None:
        left, right = window
        if left not in (None, -1):
            hidden = hidden | (ahead < -left)
        if right not in (None, -1):
            hidden = hidden | (ahead > right)
    if mask is not None:
        hidden = hidden | ~mask
    return Attention.apply(query, key, value, bias, sinks, hidden, scale, softcap)
