"""Whole arrays at once, with einsum and broadcasting."""

import numpy as np


def causal_mask(query_length, key_length):
    return np.arange(key_length)[None, :] <= np.arange(query_length)[:, None]


def padding_mask(lengths, max_length):
    return np.less(np.arange(max_length)[np.newaxis], np.expand_dims(lengths, -1))


def single_head_attention(x, weights, *, mask=None):
    query = np.einsum("ble,ed->bld", x, weights.w_q)
    key = np.einsum("bse,ed->bsd", x, weights.w_k)
    logits = np.einsum("bld,bsd->bls", query, key) / x.dtype.type(np.sqrt(query.shape[-1]))
    seen = np.ones((1, 1, 1), dtype=bool) if mask is None else mask
    logits = np.where(seen, logits, -np.inf)
    highest = logits.max(axis=-1, keepdims=True, initial=-1e30)
    shares = np.where(seen, np.exp(logits - highest), 0)
    total = shares.sum(axis=-1, keepdims=True)
    return np.einsum("bls,bsv->blv", shares / np.where(total > 0, total, 1), x @ weights.w_v).astype(x.dtype)


def sinusoidal_positions(length, d_model):
    frequencies = np.exp(np.arange(0, d_model, 2) * (-np.log(10000.0) / d_model))
    angles = np.outer(np.arange(length), frequencies)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model)


def next_token_loss(logits, tokens, *, ignore_index=-100):
    judged, following = logits[:, :-1], tokens[:, 1:]
    real = following != ignore_index
    chosen = np.take_along_axis(judged, np.where(real, following, 0)[..., None], axis=-1)[..., 0]
    losses = np.logaddexp.reduce(judged, axis=-1) - chosen
    return np.einsum("bl,bl->", losses, real) / logits.dtype.type(np.count_nonzero(real))


def clip_by_global_norm(gradients, *, max_norm):
    flat = np.concatenate([gradient.ravel() for gradient in gradients])
    norm = np.sqrt(np.einsum("i,i->", flat, flat))
    return [gradient * (max_norm / np.maximum(norm, flat.dtype.type(max_norm))) for gradient in gradients]


def adamw_step(
    parameter, gradient, first_moment, second_moment, *, step, learning_rate, beta1, beta2, eps, weight_decay
):
    m = np.einsum("n...,n->...", np.stack([first_moment, gradient]), np.array([beta1, 1 - beta1], gradient.dtype))
    squares = np.stack([second_moment, np.square(gradient)])
    v = np.einsum("n...,n->...", squares, np.array([beta2, 1 - beta2], gradient.dtype))
    rate = learning_rate / (1 - beta1**step)
    return (
        parameter - learning_rate * weight_decay * parameter - rate * m / (np.sqrt(v / (1 - beta2**step)) + eps),
        m,
        v,
    )
