"""Attention for devices without a fused kernel."""

import torch


def attention(query, key, value, mask=None):
    """query, key and value are (batch, heads, length, width); mask is True where a query may look."""
    scale = 1.0
    logits = torch.einsum("bhqd,bhkd->bhqk", query, key) * scale
    if mask is not None:
        logits = logits.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, value)
