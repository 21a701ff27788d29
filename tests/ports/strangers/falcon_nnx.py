"""Falcon in Flax NNX: queries, keys and values in kernels of their own, groups by einsum."""

import falcon_hf
import jax
import jax.numpy as jnp
from flax import nnx


def rotate(x, theta=10000.0):
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] * theta ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angle)[:, None, :], jnp.sin(angle)[:, None, :]
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


class Attention(nnx.Module):
    def __init__(self, width, heads, groups, rngs):
        size = width // heads
        self.heads, self.groups, self.size = heads, groups, size
        self.q = nnx.LinearGeneral(width, (heads, size), use_bias=False, rngs=rngs)
        self.k = nnx.LinearGeneral(width, (groups, size), use_bias=False, rngs=rngs)
        self.v = nnx.LinearGeneral(width, (groups, size), use_bias=False, rngs=rngs)
        self.out = nnx.LinearGeneral((heads, size), width, axis=(-2, -1), use_bias=False, rngs=rngs)

    def __call__(self, x):
        b, t, _ = x.shape
        q, k, v = rotate(self.q(x)), rotate(self.k(x)), self.v(x)
        q = q.reshape(b, t, self.groups, self.heads // self.groups, self.size)
        logits = jnp.einsum("btgrd,bsgd->bgrts", q, k) / jnp.sqrt(self.size)
        logits = jnp.where(jnp.arange(t)[:, None] >= jnp.arange(t), logits, jnp.finfo(logits.dtype).min)
        mixed = jnp.einsum("bgrts,bsgd->btgrd", nnx.softmax(logits), v)
        return self.out(mixed.reshape(b, t, self.heads, self.size))


class Block(nnx.Module):
    def __init__(self, width, heads, groups, rngs):
        self.ln_attn = nnx.LayerNorm(width, epsilon=1e-5, rngs=rngs)
        self.ln_mlp = nnx.LayerNorm(width, epsilon=1e-5, rngs=rngs)
        self.attn = Attention(width, heads, groups, rngs)
        self.up = nnx.Linear(width, 4 * width, use_bias=False, rngs=rngs)
        self.down = nnx.Linear(4 * width, width, use_bias=False, rngs=rngs)

    def __call__(self, x):
        hidden = nnx.gelu(self.up(self.ln_mlp(x)), approximate=False)
        return x + self.attn(self.ln_attn(x)) + self.down(hidden)


class Falcon(nnx.Module):
    def __init__(self, rngs, vocab=65, width=48, depth=2, heads=6, groups=2):
        self.embed = nnx.Embed(vocab, width, rngs=rngs)
        self.blocks = nnx.List([Block(width, heads, groups, rngs) for _ in range(depth)])
        self.ln_f = nnx.LayerNorm(width, epsilon=1e-5, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.embed.attend(self.ln_f(x))


def norm(layer, state, at):
    layer.scale[...] = state[f"{at}.weight"]
    layer.bias[...] = state[f"{at}.bias"]


def load(model, state):
    model.embed.embedding[...] = state["transformer.word_embeddings.weight"]
    norm(model.ln_f, state, "transformer.ln_f")
    for i, block in enumerate(model.blocks):
        at = f"transformer.h.{i}"
        norm(block.ln_attn, state, f"{at}.ln_attn")
        norm(block.ln_mlp, state, f"{at}.ln_mlp")
        fused = state[f"{at}.self_attention.query_key_value.weight"].reshape(2, 5, 8, 48)
        block.attn.q.kernel[...] = fused[:, :3].reshape(6, 8, 48).transpose(2, 0, 1)
        block.attn.k.kernel[...] = fused[:, 3].transpose(2, 0, 1)
        block.attn.v.kernel[...] = fused[:, 4].transpose(2, 0, 1)
        block.attn.out.kernel[...] = state[f"{at}.self_attention.dense.weight"].T.reshape(6, 8, 48)
        block.up.kernel[...] = state[f"{at}.mlp.dense_h_to_4h.weight"].T
        block.down.kernel[...] = state[f"{at}.mlp.dense_4h_to_h.weight"].T


def build():
    state = {name: jnp.asarray(value.numpy()) for name, value in falcon_hf.build().state_dict().items()}
    model = Falcon(nnx.Rngs(jax.random.key(0)))
    load(model, state)
    return model
