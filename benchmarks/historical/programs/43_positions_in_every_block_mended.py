"""A tokenizer's transformer in Flax, over the tokens of one frame."""

import math

import flax.linen as nn
import jax
import jax.numpy as jnp


class PositionalEncoding(nn.Module):
    d_model: int
    max_len: int = 64

    def setup(self):
        position = jnp.arange(self.max_len)[:, None]
        div_term = jnp.exp(jnp.arange(0, self.d_model, 2) * (-math.log(10000.0) / self.d_model))
        angles = position * div_term
        self.pe = jnp.stack((jnp.sin(angles), jnp.cos(angles)), -1).reshape(self.max_len, self.d_model)

    def __call__(self, x):
        return x + self.pe[: x.shape[1]]


class Block(nn.Module):
    dim: int
    heads: int

    @nn.compact
    def __call__(self, x):
        z = nn.LayerNorm()(x)
        x = x + nn.MultiHeadAttention(num_heads=self.heads, qkv_features=self.dim)(z)
        z = nn.LayerNorm()(x)
        return x + nn.Dense(self.dim)(nn.gelu(nn.Dense(2 * self.dim)(z)))


class Transformer(nn.Module):
    codes: int = 64
    dim: int = 32
    heads: int = 4
    blocks: int = 2

    @nn.compact
    def __call__(self, ids):
        x = nn.Embed(self.codes, self.dim)(ids)
        x = PositionalEncoding(self.dim)(x)
        for _ in range(self.blocks):
            x = Block(self.dim, self.heads)(x)
        return nn.Dense(self.codes)(nn.LayerNorm()(x))


def build():
    model = Transformer()
    return model, model.init(jax.random.PRNGKey(0), jnp.zeros((1, 8), jnp.int32))
