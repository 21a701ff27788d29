"""A GPT in Equinox: the model sees one sequence, vmap gives it a batch."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Attention(eqx.Module):
    wqkv: eqx.nn.Linear
    wo: eqx.nn.Linear
    heads: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    def __init__(self, width, heads, depth, *, key):
        k1, k2 = jr.split(key)
        self.wqkv = eqx.nn.Linear(width, 3 * width, key=k1)
        self.wo = eqx.nn.Linear(width, width, key=k2)
        self.heads = heads
        self.depth = depth

    def __call__(self, x):
        length, width = x.shape
        q, k, v = jnp.split(jax.vmap(self.wqkv)(x), 3, axis=-1)
        # (heads, length, head width)
        q, k, v = (t.reshape(length, self.heads, -1).transpose(1, 0, 2) for t in (q, k, v))

        def one_head(q, k, v):
            logits = q @ k.T / math.sqrt(q.shape[-1])
            logits = jnp.where(jnp.tri(length, dtype=bool), logits, -jnp.inf)
            return jax.nn.softmax(logits, axis=-1) @ v

        out = jax.vmap(one_head)(q, k, v)
        return jax.vmap(self.wo)(out.transpose(1, 0, 2).reshape(length, width))


class MLP(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    depth: int = eqx.field(static=True)

    def __init__(self, width, hidden, depth, *, key):
        k1, k2 = jr.split(key)
        self.up = eqx.nn.Linear(width, hidden, key=k1)
        self.down = eqx.nn.Linear(hidden, width, key=k2)
        self.depth = depth

    def __call__(self, x):
        return self.down(jax.nn.gelu(self.up(x), approximate=False))


class Block(eqx.Module):
    norm1: eqx.nn.LayerNorm
    attn: Attention
    norm2: eqx.nn.LayerNorm
    mlp: MLP
    depth: int = eqx.field(static=True)

    def __init__(self, width, heads, hidden, depth, *, key):
        k1, k2 = jr.split(key)
        self.norm1 = eqx.nn.LayerNorm(width)
        self.attn = Attention(width, heads, depth, key=k1)
        self.norm2 = eqx.nn.LayerNorm(width)
        self.mlp = MLP(width, hidden, depth, key=k2)
        self.depth = depth

    def __call__(self, x):
        x = x + self.attn(jax.vmap(self.norm1)(x))
        x = x + jax.vmap(self.mlp)(jax.vmap(self.norm2)(x))
        return x


class GPT(eqx.Module):
    tokens: eqx.nn.Embedding
    positions: eqx.nn.Embedding
    blocks: list[Block]
    norm: eqx.nn.LayerNorm
    unembed: eqx.nn.Linear

    def __init__(self, vocab, context, width, heads, hidden, depth, *, key):
        keys = jr.split(key, depth + 3)
        self.tokens = eqx.nn.Embedding(vocab, width, key=keys[0])
        self.positions = eqx.nn.Embedding(context, width, key=keys[1])
        self.blocks = [Block(width, heads, hidden, i, key=keys[3 + i]) for i in range(depth)]
        self.norm = eqx.nn.LayerNorm(width)
        self.unembed = eqx.nn.Linear(width, vocab, use_bias=False, key=keys[2])

    def forward_one(self, ids):
        x = jax.vmap(self.tokens)(ids) + jax.vmap(self.positions)(jnp.arange(ids.shape[0]))
        for block in self.blocks:
            x = block(x)
        return jax.vmap(self.unembed)(jax.vmap(self.norm)(x))

    def __call__(self, ids):
        return jax.vmap(self.forward_one)(ids)


def build():
    return GPT(vocab=56, context=18, width=28, heads=2, hidden=80, depth=3, key=jr.key(0))
