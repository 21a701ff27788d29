"""Llama in plain JAX: the parameters of all layers are stacked, and lax.scan runs over them."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax


class LayerWeights(NamedTuple):
    w_q: Array  # (layers, dim, heads, head_dim)
    w_k: Array
    w_v: Array
    w_o: Array
    w_gate: Array
    w_up: Array
    w_down: Array
    attention_norm: Array
    ffn_norm: Array
    index: Array  # which layer this is


class XfmrWeights(NamedTuple):
    tok_embeddings: Array
    layer_weights: LayerWeights
    norm: Array
    output: Array


VOCAB, DIM, LAYERS, HEADS, KV_HEADS, HEAD_DIM, HIDDEN = 86, 44, 3, 4, 2, 12, 94


def rms_norm(x, w, eps=1e-6):
    return w * (x * lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + eps))


def rope(x, theta=10000.0):
    *_, seq, _, dim = x.shape
    freqs = 1.0 / (theta ** (jnp.arange(0, dim, 2, dtype=x.dtype) / dim))
    angles = jnp.outer(jnp.arange(seq, dtype=x.dtype), freqs)
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    x1, x2 = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([x1 * cos - x2 * sin, x1 * sin + x2 * cos], axis=-1)


def attention(x, w: LayerWeights):
    q = jnp.einsum("bsd,dhk->bshk", x, w.w_q)
    k = jnp.einsum("bsd,dhk->bshk", x, w.w_k)
    v = jnp.einsum("bsd,dhk->bshk", x, w.w_v)
    q, k = rope(q), rope(k)
    k = jnp.repeat(k, HEADS // KV_HEADS, axis=2)
    v = jnp.repeat(v, HEADS // KV_HEADS, axis=2)
    scores = jnp.einsum("bqhk,bshk->bhqs", q, k) * HEAD_DIM**-0.5
    seq = x.shape[1]
    scores = jnp.where(jnp.tril(jnp.ones((seq, seq), dtype=bool)), scores, jnp.finfo(scores.dtype).min)
    probs = jax.nn.softmax(scores, axis=-1)
    out = jnp.einsum("bhqs,bshk->bqhk", probs, v)
    return jnp.einsum("bqhk,hkd->bqd", out, w.w_o)


def feed_forward(x, w: LayerWeights):
    return (jax.nn.silu(x @ w.w_gate) * (x @ w.w_up)) @ w.w_down


def layer(x, w: LayerWeights):
    x = x + attention(rms_norm(x, w.attention_norm), w)
    x = x + feed_forward(rms_norm(x, w.ffn_norm), w)
    return x, None


@partial(jax.jit)
def xfmr(weights: XfmrWeights, tokens):
    h = jnp.take(weights.tok_embeddings, tokens, axis=0)
    h, _ = lax.scan(layer, h, weights.layer_weights)
    return rms_norm(h, weights.norm) @ weights.output


def build():
    keys = iter(jax.random.split(jax.random.key(31), 16))

    def normal(*shape):
        return jax.random.normal(next(keys), shape) * shape[-2] ** -0.5

    layers = LayerWeights(
        w_q=normal(LAYERS, DIM, HEADS, HEAD_DIM),
        w_k=normal(LAYERS, DIM, KV_HEADS, HEAD_DIM),
        w_v=normal(LAYERS, DIM, KV_HEADS, HEAD_DIM),
        w_o=normal(LAYERS, HEADS, HEAD_DIM, DIM),
        w_gate=normal(LAYERS, DIM, HIDDEN),
        w_up=normal(LAYERS, DIM, HIDDEN),
        w_down=normal(LAYERS, HIDDEN, DIM),
        attention_norm=jnp.ones((LAYERS, DIM)),
        ffn_norm=jnp.ones((LAYERS, DIM)),
        index=jnp.arange(LAYERS),
    )
    return xfmr, XfmrWeights(normal(VOCAB, DIM), layers, jnp.ones(DIM), normal(DIM, VOCAB))
