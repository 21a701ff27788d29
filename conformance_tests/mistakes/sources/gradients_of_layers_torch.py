"""Encoder and decoder layers in PyTorch, differentiated by autograd."""

import torch
from torch.nn import functional

framework = "torch"
ACTIVATIONS = {"relu": functional.relu, "gelu": functional.gelu, "silu": functional.silu}


def split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def attend(x, context, weights, num_heads, visible):
    query = split(functional.linear(x, weights.w_q.T, weights.b_q), num_heads)
    key = split(functional.linear(context, weights.w_k.T, weights.b_k), num_heads)
    value = split(functional.linear(context, weights.w_v.T, weights.b_v), num_heads)
    logits = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if visible is None:
        visible = torch.ones_like(logits, dtype=torch.bool)
    weights_of_keys = torch.softmax(logits.masked_fill(~visible, torch.finfo(logits.dtype).min), dim=-1)
    heads = weights_of_keys.masked_fill(~visible, 0.0) @ value
    return functional.linear(heads.transpose(1, 2).flatten(-2), weights.w_o.T, weights.b_o)


def transform(x, weights, activation):
    hidden = ACTIVATIONS[activation](functional.linear(x, weights.w_1.T, weights.b_1))
    return functional.linear(hidden, weights.w_2.T, weights.b_2)


def normalise(x, norm, eps):
    return functional.layer_norm(x, x.shape[-1:], norm.gamma, norm.beta, eps)


def residual(x, norm, sublayer, norm_first, eps):
    if norm_first:
        return x + sublayer(normalise(x, norm, eps))
    return normalise(x + sublayer(x), norm, eps)


def keys(mask):
    return None if mask is None else mask[:, None, None, :]


def encoder_layer(x, weights, *, num_heads, norm_first, activation, eps, padding_mask=None):
    visible = keys(padding_mask)
    x = residual(x, weights.norm_1, lambda y: attend(y, y, weights.self_attention, num_heads, visible), norm_first, eps)
    return residual(x, weights.norm_2, lambda y: transform(y, weights.feed_forward, activation), norm_first, eps)


def decoder_layer(
    x, memory, weights, *, num_heads, norm_first, activation, eps, padding_mask=None, memory_padding_mask=None
):
    visible = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()[None, None]
    if padding_mask is not None:
        visible = visible & keys(padding_mask)
    seen = keys(memory_padding_mask)
    x = residual(x, weights.norm_1, lambda y: attend(y, y, weights.self_attention, num_heads, visible), norm_first, eps)
    x = residual(
        x, weights.norm_2, lambda y: attend(y, memory, weights.cross_attention, num_heads, seen), norm_first, eps
    )
    return residual(x, weights.norm_3, lambda y: transform(y, weights.feed_forward, activation), norm_first, eps)
