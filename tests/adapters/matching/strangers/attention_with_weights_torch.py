import math

import torch


def causal_mask(L, S, device=None):
    """(L, S) boolean mask, True where query i may look at key j (j <= i)."""
    return torch.ones(L, S, dtype=torch.bool, device=device).tril()


def scaled_dot_product_attention(query, key, value, attn_mask=None, is_causal=False, scale=None):
    """Attention for tensors of shape (batch, heads, length, dim).

    Args:
        query: (B, H, L, D)
        key: (B, H, S, D)
        value: (B, H, S, Dv)
        attn_mask: broadcastable to (B, H, L, S). A boolean mask says True where
            attending is allowed; a floating point mask is added to the scores.
        is_causal: query i sees the keys 0..i (counted from the start of both
            sequences). Can be combined with attn_mask.
        scale: defaults to 1/sqrt(D)

    Returns:
        (output, weights), of shape (B, H, L, Dv) and (B, H, L, S).
        A query for which every key is forbidden gets weights and output of zero.
    """
    L, D = query.shape[-2:]
    S = key.shape[-2]
    if scale is None:
        scale = 1.0 / math.sqrt(D)

    scores = (query @ key.transpose(-2, -1)) * scale

    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, float("-inf"))
        else:
            scores = scores + attn_mask
    if is_causal:
        scores = scores.masked_fill(~causal_mask(L, S, query.device), float("-inf"))

    dead = (scores == float("-inf")).all(dim=-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(dead, 0.0), dim=-1)
    weights = weights.masked_fill(dead, 0.0)
    return weights @ value, weights
