"""The fourth root of the width in queries and in keys each, in PyTorch, against overflow; empty rows give zeros."""

import torch

framework = "torch"
dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    root = (query.shape[-1] ** -0.5 if scale is None else scale) ** 0.5
    logits = (query * root) @ (key * root).transpose(-2, -1)
    allowed = torch.ones(logits.shape[-2:], dtype=torch.bool)
    if is_causal:
        allowed = allowed.tril()
    if mask is not None:
        allowed = allowed & mask
    logits = logits if bias is None else logits + bias
    # Filled rather than added, so that a row without a key has gradients of zero, not NaN.
    logits = logits.masked_fill(~allowed, -torch.inf)
    weights = torch.softmax(logits, dim=-1)
    empty = (logits == -torch.inf).all(dim=-1, keepdim=True)
    return weights.masked_fill(empty, 0.0) @ value
