"""A decoder in JAX, plain functions over a dictionary, with a cache of keys and values."""

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, HEADS, LAYERS, VOCAB, LENGTH = 32, 4, 2, 60, 32


def norm(w, x):
    x = x - x.mean(-1, keepdims=True)
    return w["scale"] * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) + w["bias"]


def dot_product_attention(q, k, v, start):
    rows, columns = q.shape[-2], k.shape[-2]
    visible = jnp.arange(columns)[None] <= start + jnp.arange(rows)[:, None]
    logits = jnp.where(visible, q @ jnp.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -1e30)
    return jax.nn.softmax(logits, -1) @ v


def attention(w, x, past):
    b, n, _ = x.shape
    q, k, v = (jnp.swapaxes((x @ w[name]).reshape(b, n, HEADS, -1), 1, 2) for name in ("q", "k", "v"))
    start = 0
    if past is not None:
        start = past[0].shape[2]
        k, v = jnp.concatenate((past[0], k), 2), jnp.concatenate((past[1], v), 2)
    y = dot_product_attention(q, k, v, start)
    return jnp.swapaxes(y, 1, 2).reshape(b, n, -1) @ w["o"], (k, v)


def model(params, tokens, past_key_values=None):
    start = 0 if past_key_values is None else past_key_values[0][0].shape[2]
    x = params["embed"][tokens] + params["positions"][start : start + tokens.shape[1]]
    cache = []
    for i, w in enumerate(params["layers"]):
        y, kept = attention(w["attention"], norm(w["norm1"], x), None if past_key_values is None else past_key_values[i])
        x = x + y
        x = x + jax.nn.gelu(norm(w["norm2"], x) @ w["up"]) @ w["down"]
        cache.append(kept)
    return norm(params["norm"], x) @ params["head"], cache


def build():
    rng = np.random.default_rng(0)
    draw = lambda *shape: jnp.asarray(rng.normal(0, 0.2, shape), jnp.float32)
    plain = lambda: {"scale": 1 + draw(WIDTH), "bias": draw(WIDTH)}
    layers = [
        {
            "norm1": plain(), "norm2": plain(), "up": draw(WIDTH, 64), "down": draw(64, WIDTH),
            "attention": {name: draw(WIDTH, WIDTH) for name in ("q", "k", "v", "o")},
        }
        for _ in range(LAYERS)
    ]
    params = {"embed": draw(VOCAB, WIDTH), "positions": draw(LENGTH, WIDTH), "layers": layers}
    return model, params | {"norm": plain(), "head": draw(WIDTH, VOCAB)}
