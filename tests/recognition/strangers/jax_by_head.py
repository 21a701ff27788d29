"""A GPT in plain JAX with one matrix for each head, whose biases are added behind an exchange of axes."""

import jax
import jax.numpy as jnp


def norm(x, g, b):
    m = x.mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b


def attention(p, x):
    y = x[:, None]
    q, k, v = (y @ p[n] + p["b" + n][:, None] for n in "qkv")
    s = q @ k.swapaxes(-1, -2) / jnp.sqrt(q.shape[-1])
    s = jnp.where(jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool)), s, -1e9)
    return (jax.nn.softmax(s) @ v @ p["o"]).sum(1) + p["bo"]


def model(p, ids):
    x = p["tokens"][ids] + p["positions"][: ids.shape[1]]
    for layer in p["layers"]:
        x = x + attention(layer["a"], norm(x, *layer["n1"]))
        x = x + jax.nn.gelu(norm(x, *layer["n2"]) @ layer["w1"] + layer["c1"]) @ layer["w2"] + layer["c2"]
    return norm(x, *p["last"]) @ p["out"]


def build(d=32, h=4, w=8):
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 60))

    def r(*shape):
        return jax.random.normal(next(keys), shape) * 0.2

    def layer():
        a = {**{n: r(h, d, w) for n in "qkv"}, **{"b" + n: r(h, w) for n in "qkv"}, "o": r(h, w, d), "bo": r(d)}
        return {"a": a, "n1": (r(d), r(d)), "n2": (r(d), r(d)), "w1": r(d, 64), "c1": r(64), "w2": r(64, d), "c2": r(d)}

    layers = [layer(), layer()]
    return model, {"tokens": r(60, d), "positions": r(32, d), "layers": layers, "last": (r(d), r(d)), "out": r(d, 60)}
