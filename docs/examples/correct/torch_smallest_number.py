"""A mask by torch.finfo(dtype).min, in PyTorch, as many models do: empty rows give the mean of all values."""

import torch

framework = "torch"
dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = torch.matmul(query * scale, key.transpose(2, 3))
    lowest = torch.finfo(logits.dtype).min
    if bias is not None:
        logits = (logits + bias).clamp(min=lowest)
    if is_causal:
        logits = logits.masked_fill(torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1), lowest)
    if mask is not None:
        logits = logits.masked_fill(~mask, lowest)
    weights = torch.nn.functional.softmax(logits, dim=-1, dtype=torch.promote_types(query.dtype, torch.float32))
    return torch.matmul(weights.to(query.dtype), value)
