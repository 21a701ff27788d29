"""A GPT of single sequences in Equinox, whose queries see the key after their own."""

import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    first: eqx.nn.LayerNorm
    second: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, width, heads, key):
        keys = jax.random.split(key, 3)
        self.attention = eqx.nn.MultiheadAttention(heads, width, use_query_bias=True, key=keys[0])
        self.first, self.second = eqx.nn.LayerNorm(width), eqx.nn.LayerNorm(width)
        self.up = eqx.nn.Linear(width, 4 * width, key=keys[1])
        self.down = eqx.nn.Linear(4 * width, width, key=keys[2])

    def __call__(self, x):
        mask = jnp.tril(jnp.ones((len(x), len(x)), bool), k=1)
        h = jax.vmap(self.first)(x)
        x = x + self.attention(h, h, h, mask=mask)
        return x + jax.vmap(lambda row: self.down(jax.nn.gelu(self.up(self.second(row)))))(x)


class GPT(eqx.Module):
    tokens: eqx.nn.Embedding
    positions: jax.Array
    blocks: list
    norm: eqx.nn.LayerNorm
    head: eqx.nn.Linear

    def __init__(self):
        keys = jax.random.split(jax.random.PRNGKey(0), 5)
        self.tokens = eqx.nn.Embedding(60, 32, key=keys[0])
        self.positions = jax.random.normal(keys[1], (64, 32))
        self.blocks = [Block(32, 4, keys[2]), Block(32, 4, keys[3])]
        self.norm = eqx.nn.LayerNorm(32)
        self.head = eqx.nn.Linear(32, 60, key=keys[4])

    def __call__(self, ids):
        x = jax.vmap(self.tokens)(ids) + self.positions[: len(ids)]
        for block in self.blocks:
            x = block(x)
        return jax.vmap(self.head)(jax.vmap(self.norm)(x))
