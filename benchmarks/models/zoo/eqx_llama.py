# Equinox, one sequence at a time: grouped queries, rotary pairs by complex numbers, SwiGLU, RMSNorm, scan over stacked layers.
import equinox as eqx
import jax
import jax.numpy as jnp


def rotate(x):
    n, _, d = x.shape
    angle = jnp.outer(jnp.arange(n), 10000.0 ** (-jnp.arange(0, d, 2) / d))
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * jnp.exp(1j * angle)[:, None]
    return jnp.stack([z.real, z.imag], axis=-1).reshape(x.shape)


class Block(eqx.Module):
    wq: eqx.nn.Linear
    wkv: eqx.nn.Linear
    wo: eqx.nn.Linear
    gate_up: eqx.nn.Linear
    down: eqx.nn.Linear
    norm1: eqx.nn.RMSNorm
    norm2: eqx.nn.RMSNorm

    def __init__(self, width, heads, groups, key):
        k = jax.random.split(key, 5)
        self.wq = eqx.nn.Linear(width, width, use_bias=False, key=k[0])
        self.wkv = eqx.nn.Linear(width, 2 * groups * width // heads, use_bias=False, key=k[1])
        self.wo = eqx.nn.Linear(width, width, use_bias=False, key=k[2])
        self.gate_up = eqx.nn.Linear(width, 4 * width, use_bias=False, key=k[3])
        self.down = eqx.nn.Linear(2 * width, width, use_bias=False, key=k[4])
        self.norm1 = eqx.nn.RMSNorm(width, use_bias=False)
        self.norm2 = eqx.nn.RMSNorm(width, use_bias=False)

    def __call__(self, x):
        n, d = x.shape[0], 8
        y = jax.vmap(self.norm1)(x)
        q = rotate(jax.vmap(self.wq)(y).reshape(n, -1, d))
        k, v = jnp.split(jax.vmap(self.wkv)(y), 2, axis=-1)
        k, v = rotate(k.reshape(n, -1, d)), v.reshape(n, -1, d)
        k, v = (jnp.repeat(t, q.shape[1] // t.shape[1], axis=1) for t in (k, v))
        logits = jnp.einsum("shd,Shd->hsS", q, k) / jnp.sqrt(d)
        logits = jnp.where(jnp.tril(jnp.ones((n, n), bool)), logits, -1e30)
        y = jnp.einsum("hsS,Shd->shd", jax.nn.softmax(logits, -1), v).reshape(n, -1)
        x = x + jax.vmap(self.wo)(y)
        gate, up = jnp.split(jax.vmap(self.gate_up)(jax.vmap(self.norm2)(x)), 2, axis=-1)
        return x + jax.vmap(self.down)(jax.nn.silu(gate) * up)


class Llama(eqx.Module):
    embedding: eqx.nn.Embedding
    blocks: Block
    norm: eqx.nn.RMSNorm
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.embedding = eqx.nn.Embedding(64, 32, key=keys[0])
        self.blocks = eqx.filter_vmap(lambda k: Block(32, 4, 2, k))(jax.random.split(keys[1], 3))
        self.norm = eqx.nn.RMSNorm(32, use_bias=False)
        self.head = eqx.nn.Linear(32, 64, use_bias=False, key=keys[2])

    def one(self, ids):
        x = jax.vmap(self.embedding)(ids)
        dynamic, static = eqx.partition(self.blocks, eqx.is_array)
        x, _ = jax.lax.scan(lambda h, layer: (eqx.combine(layer, static)(h), None), x, dynamic)
        return jax.vmap(self.head)(jax.vmap(self.norm)(x))

    def __call__(self, ids):
        return jax.vmap(self.one)(ids)


def build():
    return Llama(jax.random.PRNGKey(3))
