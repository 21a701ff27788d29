"""A correct attention in 16 bits, in PyTorch, masked by the lowest number of the dtype; the tests change a line."""

import torch

framework = "torch"
dtypes = ("float16", "bfloat16")
conventions = {"empty_row": "mean_of_values"}


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    lowest = torch.finfo(query.dtype).min
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    # Scaled before the product, which may leave the range of float16.
    logits = (query * scale) @ key.mT
    visible = torch.ones(logits.shape[-2:], dtype=torch.bool)
    if is_causal:
        visible = visible.tril()
    if mask is not None:
        visible = visible & mask
    logits = logits.where(visible, lowest)
    return torch.softmax(logits, dim=-1) @ value
