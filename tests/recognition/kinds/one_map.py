"""A small encoder of Flax Linen, of which one map with three axes gives queries, keys and values."""

import jax
import jax.numpy as jnp
from flax import linen as nn

WIDTH, HEADS = 24, 3


class Attention(nn.Module):
    axes: tuple[int, ...]

    @nn.compact
    def __call__(self, x):
        qkv = nn.DenseGeneral(self.axes, bias_init=nn.initializers.normal(1.0), name="qkv")(x)
        q, k, v = jnp.moveaxis(qkv.reshape(*x.shape[:2], 3, HEADS, -1), 2, 0)
        weights = jax.nn.softmax(jnp.einsum("blhd,bshd->bhls", q, k) / q.shape[-1] ** 0.5)
        return nn.DenseGeneral(WIDTH, axis=(-2, -1), name="out")(jnp.einsum("bhls,bshd->blhd", weights, v))


class Encoder(nn.Module):
    axes: tuple[int, ...]

    @nn.compact
    def __call__(self, x):
        return x + Attention(self.axes, name="attention")(nn.LayerNorm(name="norm")(x))
