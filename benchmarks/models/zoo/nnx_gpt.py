"""A GPT in Flax NNX, from its own layers."""

import jax
import jax.numpy as jnp
from flax import nnx


class CausalSelfAttention(nnx.Module):
    def __init__(self, num_heads: int, num_embeds: int, layer: int, *, rngs: nnx.Rngs):
        self.layer = layer
        self.num_heads = num_heads
        self.query = nnx.Linear(num_embeds, num_embeds, rngs=rngs)
        self.key = nnx.Linear(num_embeds, num_embeds, rngs=rngs)
        self.value = nnx.Linear(num_embeds, num_embeds, rngs=rngs)
        self.out = nnx.Linear(num_embeds, num_embeds, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x, mask):
        B, T, C = x.shape
        head_dim = C // self.num_heads
        q = self.query(x).reshape(B, T, self.num_heads, head_dim)
        k = self.key(x).reshape(B, T, self.num_heads, head_dim)
        v = self.value(x).reshape(B, T, self.num_heads, head_dim)
        q = q / jnp.sqrt(head_dim).astype(q.dtype)
        attn = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        attn = jnp.where(mask, attn, jnp.finfo(attn.dtype).min)
        attn = nnx.softmax(attn, axis=-1)
        y = jnp.einsum("bhqk,bkhd->bqhd", attn, v).reshape(B, T, C)
        return self.dropout(self.out(y))


class MLP(nnx.Module):
    def __init__(self, num_embeds: int, layer: int, *, rngs: nnx.Rngs):
        self.layer = layer
        self.c_fc = nnx.Linear(num_embeds, 3 * num_embeds, rngs=rngs)
        self.c_proj = nnx.Linear(3 * num_embeds, num_embeds, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        x = self.c_fc(x)
        x = nnx.gelu(x, approximate=True)
        x = self.c_proj(x)
        return self.dropout(x)


class Block(nnx.Module):
    def __init__(self, num_heads: int, num_embeds: int, layer: int, *, rngs: nnx.Rngs):
        self.layer = layer
        self.ln_1 = nnx.LayerNorm(num_embeds, epsilon=1e-6, rngs=rngs)
        self.attn = CausalSelfAttention(num_heads, num_embeds, layer, rngs=rngs)
        self.ln_2 = nnx.LayerNorm(num_embeds, epsilon=1e-6, rngs=rngs)
        self.mlp = MLP(num_embeds, layer, rngs=rngs)

    def __call__(self, x, mask):
        x = x + self.attn(self.ln_1(x), mask)
        x = x + self.mlp(self.ln_2(x))
        return x


class GPT(nnx.Module):
    def __init__(self, vocab=74, context=22, width=40, heads=4, depth=3, *, rngs: nnx.Rngs):
        self.wte = nnx.Embed(vocab, width, rngs=rngs)
        self.wpe = nnx.Embed(context, width, rngs=rngs)
        self.blocks = nnx.List([Block(heads, width, i, rngs=rngs) for i in range(depth)])
        self.ln_f = nnx.LayerNorm(width, epsilon=1e-6, rngs=rngs)

    def __call__(self, idx: jax.Array):
        T = idx.shape[1]
        x = self.wte(idx) + self.wpe(jnp.arange(T))[None]
        mask = jnp.tril(jnp.ones((T, T), dtype=bool))[None, None]
        for block in self.blocks:
            x = block(x, mask)
        x = self.ln_f(x)
        return self.wte.attend(x)


def build():
    return GPT(rngs=nnx.Rngs(0))
