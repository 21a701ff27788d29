"""Masked logits are filled with −1e9, as in many tutorials: a row without a key is the mean of all values."""

import math

import torch

framework = "torch"


def attention_weights(query, key, *, mask=None, is_causal=False, scale=None):
    scores = query @ key.transpose(-2, -1)
    scores = scores / math.sqrt(query.size(-1)) if scale is None else scores * scale
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    if is_causal:
        subsequent = torch.triu(torch.ones(scores.shape[-2:]), diagonal=1).type(torch.uint8)
        scores = scores.masked_fill(subsequent == 1, -1e9)
    return scores.softmax(dim=-1)


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    return torch.matmul(attention_weights(query, key, mask=mask, is_causal=is_causal, scale=scale), value)


def multi_head_attention(x, context, weights, *, num_heads, mask=None, is_causal=False):
    batch = x.size(0)
    projections = (
        (x, weights.w_q, weights.b_q),
        (context, weights.w_k, weights.b_k),
        (context, weights.w_v, weights.b_v),
    )
    query, key, value = (
        torch.nn.functional.linear(inputs, w.T, b).view(batch, -1, num_heads, w.shape[1] // num_heads).transpose(1, 2)
        for inputs, w, b in projections
    )
    x = scaled_dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)
    x = x.transpose(1, 2).contiguous().view(batch, -1, weights.w_o.shape[0])
    return torch.nn.functional.linear(x, weights.w_o.T, weights.b_o)
