"""A correct implementation in PyTorch; the tests change one line at a time."""

import math

import torch

framework = "torch"


def attention_weights(query, key, *, mask=None, is_causal=False):
    logits = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if is_causal:
        visible = torch.ones(logits.shape[-2:], dtype=torch.bool).tril()
        logits = logits.masked_fill(~visible, float("-inf"))
    if mask is not None:
        logits = logits.masked_fill(~mask, float("-inf"))
    return torch.softmax(logits, dim=-1)


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False):
    return attention_weights(query, key, mask=mask, is_causal=is_causal) @ value


def grouped_query_attention(query, key, value, *, mask=None, is_causal=False):
    group = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
    return scaled_dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)


def multi_head_attention(x, context, weights, *, num_heads, num_kv_heads=None, mask=None):
    def project(tokens, weight, bias, count=num_heads):
        projected = tokens @ weight if bias is None else tokens @ weight + bias
        return projected.unflatten(-1, (count, -1)).transpose(1, 2)

    query = project(x, weights.w_q, weights.b_q)
    key = project(context, weights.w_k, weights.b_k, num_kv_heads or num_heads)
    value = project(context, weights.w_v, weights.b_v, num_kv_heads or num_heads)
    heads = grouped_query_attention(query, key, value, mask=mask)
    merged = heads.transpose(1, 2).flatten(2)
    output = merged @ weights.w_o
    return output if weights.b_o is None else output + weights.b_o


def sinusoidal_positions(length, d_model):
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)
