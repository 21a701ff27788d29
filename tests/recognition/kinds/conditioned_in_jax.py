"""The small DiT as functions of JAX, on vectors instead of an image."""

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, HEADS, HIDDEN, CLASSES, LENGTH = 24, 3, 40, 7, 9
GIVEN = tuple(one.astype(np.float32) for one in np.random.default_rng(1).normal(size=(1, 3, LENGTH, WIDTH)))


def made(layers=2):
    draw = np.random.default_rng(0)

    def linear(rows, columns):
        matrix = draw.normal(size=(rows, columns)) / rows**0.5
        return {"w": jnp.asarray(matrix, jnp.float32), "b": jnp.asarray(draw.normal(size=columns), jnp.float32)}

    def block():
        sizes = {"condition": (WIDTH, 6 * WIDTH), "qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH)}
        sizes |= {"up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH)}
        return {name: linear(*size) for name, size in sizes.items()}

    ends = {"condition": linear(WIDTH, 2 * WIDTH), "head": linear(WIDTH, 5)}
    classes = jnp.asarray(draw.normal(size=(CLASSES, WIDTH)), jnp.float32)
    return {"blocks": [block() for _ in range(layers)], "classes": classes, **ends}


def mapped(p, x):
    return x @ p["w"] + p["b"]


def normalised(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6)


def modulate(x, shift, gain):
    return normalised(x) * (1 + gain[:, None]) + shift[:, None]


def attention(p, x):
    q, k, v = mapped(p["qkv"], x).reshape(*x.shape[:2], 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
    weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, axis=-1)
    return mapped(p["out"], (weights @ v).swapaxes(1, 2).reshape(x.shape))


def block(p, x, c):
    shift1, gain1, gate1, shift2, gain2, gate2 = jnp.split(mapped(p["condition"], jax.nn.silu(c)), 6, axis=-1)
    x = x + gate1[:, None] * attention(p, modulate(x, shift1, gain1))
    hidden = jax.nn.gelu(mapped(p["up"], modulate(x, shift2, gain2)))
    return x + gate2[:, None] * mapped(p["down"], hidden)


def apply(p, x, y):
    c = p["classes"][y]
    for one in p["blocks"]:
        x = block(one, x, c)
    shift, gain = jnp.split(mapped(p["condition"], jax.nn.silu(c)), 2, axis=-1)
    return mapped(p["head"], modulate(x, shift, gain))


def given():
    return *GIVEN, np.array([2, 0, 5])
