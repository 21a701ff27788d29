"""A decoder with ALiBi in plain JAX. Its parameters are a dictionary."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from drawing import generator

V, D, H, F, N = 77, 48, 6, 80, 2


def slopes(heads):
    """Slopes of Press et al. for a number of heads that need not be a power of two."""
    whole = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (i + 1) / whole) for i in range(whole)]
    rest = [2 ** (-8 * (i + 1) / (2 * whole)) for i in range(0, 2 * (heads - whole), 2)]
    return jnp.array(first + rest)


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    var = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-5) * p["scale"] + p["shift"]


def attend(p, x):
    length = x.shape[1]
    q, k, v = (jnp.einsum("bld,dhe->bhle", x, p[n]) + p["b" + n][:, None] for n in ("q", "k", "v"))
    logits = jnp.einsum("bhle,bhse->bhls", q, k) / math.sqrt(D // H)
    distance = jnp.arange(length)[None, :] - jnp.arange(length)[:, None]
    logits = logits + slopes(H).astype(logits.dtype)[:, None, None] * distance
    logits = jnp.where(distance > 0, -jnp.inf, logits)
    return jnp.einsum("bhls,bhse,hed->bld", jax.nn.softmax(logits), v, p["o"]) + p["bo"]


def forward(params, tokens):
    x = layer_norm(params["embedding_norm"], params["table"][tokens])
    for p in params["layers"]:
        x = x + attend(p["attention"], layer_norm(p["norm1"], x))
        y = layer_norm(p["norm2"], x)
        x = x + jax.nn.gelu(y @ p["up"] + p["bup"], approximate=True) @ p["down"] + p["bdown"]
    return layer_norm(params["last"], x) @ params["table"].T


def parameters():
    numbers = generator()

    def normal(*shape, width):
        return (1.2 * numbers.normal(size=shape) / math.sqrt(width)).astype(np.float32)

    def bias(*shape):
        return (0.3 * numbers.normal(size=shape)).astype(np.float32)

    def norm():
        return {"scale": 1 + bias(D), "shift": bias(D)}

    def layer():
        e = D // H
        attention = {n: normal(D, H, e, width=D) for n in "qkv"} | {f"b{n}": bias(H, e) for n in "qkv"}
        return {
            "attention": attention | {"o": normal(H, e, D, width=D), "bo": bias(D)},
            "norm1": norm(),
            "norm2": norm(),
            "up": normal(D, F, width=D),
            "bup": bias(F),
            "down": normal(F, D, width=F),
            "bdown": bias(D),
        }

    table = normal(V, D, width=3)
    return {
        "table": table,
        "embedding_norm": norm(),
        "layers": [layer() for _ in range(N)],
        "last": norm(),
    }


def build():
    return forward, jax.tree.map(jnp.asarray, parameters())


def inputs():
    return np.random.default_rng(12).integers(1, V, (2, 14))
