"""An encoder in Equinox, with the norm before or after each part."""

import equinox as eqx
import jax
import jax.numpy as jnp


class Layer(eqx.Module):
    mha: eqx.nn.MultiheadAttention
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    norm_1: eqx.nn.LayerNorm
    norm_2: eqx.nn.LayerNorm
    norm_first: bool = eqx.field(static=True)

    def __init__(self, d, heads, norm_first, key):
        a, b, c = jax.random.split(key, 3)
        self.mha = eqx.nn.MultiheadAttention(heads, d, use_query_bias=True, use_output_bias=True, key=a)
        self.up, self.down = eqx.nn.Linear(d, 2 * d, key=b), eqx.nn.Linear(2 * d, d, key=c)
        self.norm_1, self.norm_2 = eqx.nn.LayerNorm(d), eqx.nn.LayerNorm(d)
        self.norm_first = norm_first

    def pwff(self, x):
        return jax.vmap(self.down)(jax.nn.gelu(jax.vmap(self.up)(x)))

    def __call__(self, x):
        if self.norm_first:
            y = jax.vmap(self.norm_1)(x)
            x = y + self.mha(y, y, y)
            y = jax.vmap(self.norm_2)(x)
            return y + self.pwff(y)
        x = jax.vmap(self.norm_1)(x + self.mha(x, x, x))
        return jax.vmap(self.norm_2)(x + self.pwff(x))


class Encoder(eqx.Module):
    embed: eqx.nn.Embedding
    positions: eqx.nn.Embedding
    layers: list
    norm: eqx.nn.LayerNorm

    def __init__(self, vocab=64, d=32, heads=4, layers=2, *, key):
        keys = jax.random.split(key, layers + 2)
        self.embed, self.positions = eqx.nn.Embedding(vocab, d, key=keys[0]), eqx.nn.Embedding(64, d, key=keys[1])
        self.layers = [Layer(d, heads, True, k) for k in keys[2:]]
        self.norm = eqx.nn.LayerNorm(d)

    def encode(self, tokens):
        x = jax.vmap(self.embed)(tokens) + jax.vmap(self.positions)(jnp.arange(tokens.shape[0]))
        for layer in self.layers:
            x = layer(x)
        return jax.vmap(self.norm)(x)

    def __call__(self, tokens):
        return jax.vmap(self.encode)(tokens)


def build():
    return Encoder(key=jax.random.PRNGKey(0))
