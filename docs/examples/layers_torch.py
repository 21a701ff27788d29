"""Encoder and decoder layers in PyTorch, written out."""

import math

import torch
from torch.nn import functional

framework = "torch"
dtypes = ("float32", "float64")
conventions = {"gelu_form": "erf"}

ACTIVATIONS = {"relu": torch.relu, "gelu": functional.gelu, "silu": functional.silu}


def encoder_layer(x, weights, *, num_heads, norm_first, activation, eps, padding_mask=None):
    visible = None if padding_mask is None else padding_mask[:, None, None, :]

    def attend(y):
        return multi_head(y, y, weights.self_attention, num_heads, visible)

    def transform(y):
        return feed_forward(y, weights.feed_forward, activation=activation)

    x = residual(x, weights.norm_1, attend, norm_first, eps)
    return residual(x, weights.norm_2, transform, norm_first, eps)


def decoder_layer(
    x, memory, weights, *, num_heads, norm_first, activation, eps, padding_mask=None, memory_padding_mask=None
):
    length = x.shape[1]
    visible = torch.ones(length, length, dtype=torch.bool).tril()[None, None]
    if padding_mask is not None:
        visible = visible & padding_mask[:, None, None, :]
    memory_visible = None if memory_padding_mask is None else memory_padding_mask[:, None, None, :]

    def attend(y):
        return multi_head(y, y, weights.self_attention, num_heads, visible)

    def look_up(y):
        return multi_head(y, memory, weights.cross_attention, num_heads, memory_visible)

    def transform(y):
        return feed_forward(y, weights.feed_forward, activation=activation)

    x = residual(x, weights.norm_1, attend, norm_first, eps)
    x = residual(x, weights.norm_2, look_up, norm_first, eps)
    return residual(x, weights.norm_3, transform, norm_first, eps)


def residual(x, norm, sublayer, norm_first, eps):
    if norm_first:
        return x + sublayer(layer_norm(x, norm.gamma, norm.beta, eps=eps))
    return layer_norm(x + sublayer(x), norm.gamma, norm.beta, eps=eps)


def layer_norm(x, gamma, beta, *, eps):
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred * torch.rsqrt(variance + eps) * gamma + beta


def multi_head(x, context, weights, num_heads, visible):
    query = split(linear(x, weights.w_q, weights.b_q), num_heads)
    key = split(linear(context, weights.w_k, weights.b_k), num_heads)
    value = split(linear(context, weights.w_v, weights.b_v), num_heads)
    logits = query @ key.mT / math.sqrt(query.shape[-1])
    if visible is not None:
        logits = logits.masked_fill(~visible, float("-inf"))
    # A padded query in front of a left-padded sequence sees nothing; what it gets is never read.
    heads = torch.softmax(logits, dim=-1).nan_to_num(0.0) @ value
    return linear(heads.transpose(1, 2).flatten(2), weights.w_o, weights.b_o)


def split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def feed_forward(x, weights, *, activation):
    hidden = ACTIVATIONS[activation](linear(x, weights.w_1, weights.b_1))
    return linear(hidden, weights.w_2, weights.b_2)


def linear(x, weight, bias):
    return x @ weight if bias is None else x @ weight + bias
