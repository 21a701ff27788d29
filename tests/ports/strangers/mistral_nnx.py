"""Mistral in Flax NNX; parameters are kept in float32 after loading the bfloat16 checkpoint."""

import jax
import jax.numpy as jnp
import mistral_bf16
from flax import nnx

DIM, HEADS, KV, SIZE, WINDOW = 48, 6, 2, 8, 5


def rope(x, theta=10000.0):
    t = jnp.arange(x.shape[1], dtype=jnp.float32)
    freq = 1.0 / theta ** (jnp.arange(0, SIZE, 2, dtype=jnp.float32) / SIZE)
    emb = jnp.concatenate([jnp.outer(t, freq)] * 2, -1)[None, :, None]
    x1, x2 = jnp.split(x, 2, axis=-1)
    return x * jnp.cos(emb) + jnp.concatenate([-x2, x1], -1) * jnp.sin(emb)


class Attention(nnx.Module):
    def __init__(self, rngs):
        self.q = nnx.LinearGeneral(DIM, (HEADS, SIZE), use_bias=False, rngs=rngs)
        self.k = nnx.LinearGeneral(DIM, (KV, SIZE), use_bias=False, rngs=rngs)
        self.v = nnx.LinearGeneral(DIM, (KV, SIZE), use_bias=False, rngs=rngs)
        self.o = nnx.LinearGeneral((HEADS, SIZE), DIM, axis=(-2, -1), use_bias=False, rngs=rngs)

    def __call__(self, x):
        n = x.shape[1]
        q, k, v = rope(self.q(x)), rope(self.k(x)), self.v(x)
        i, j = jnp.arange(n)[:, None], jnp.arange(n)[None]
        mask = (j <= i) & (i - j < WINDOW)
        k, v = jnp.repeat(k, HEADS // KV, axis=2), jnp.repeat(v, HEADS // KV, axis=2)
        return self.o(nnx.dot_product_attention(q, k, v, mask=mask[None, None]))


class MLP(nnx.Module):
    def __init__(self, rngs):
        self.gate = nnx.Linear(DIM, 64, use_bias=False, rngs=rngs)
        self.up = nnx.Linear(DIM, 64, use_bias=False, rngs=rngs)
        self.down = nnx.Linear(64, DIM, use_bias=False, rngs=rngs)

    def __call__(self, x):
        return self.down(nnx.silu(self.gate(x)) * self.up(x))


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm1 = nnx.RMSNorm(DIM, epsilon=1e-5, rngs=rngs)
        self.attn = Attention(rngs)
        self.norm2 = nnx.RMSNorm(DIM, epsilon=1e-5, rngs=rngs)
        self.mlp = MLP(rngs)

    def __call__(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Mistral(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(77, DIM, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(2)])
        self.norm = nnx.RMSNorm(DIM, epsilon=1e-5, rngs=rngs)
        self.head = nnx.Linear(DIM, 77, use_bias=False, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def load(model, sd):
    w = {k: jnp.asarray(v.float().numpy()) for k, v in sd.items()}
    model.embed.embedding[...] = w["model.embed_tokens.weight"]
    model.norm.scale[...] = w["model.norm.weight"]
    model.head.kernel[...] = w["lm_head.weight"].T
    for i, b in enumerate(model.blocks):
        p = f"model.layers.{i}."
        for name, n in (("q", HEADS), ("k", KV), ("v", KV)):
            getattr(b.attn, name).kernel[...] = w[f"{p}self_attn.{name}_proj.weight"].T.reshape(DIM, n, SIZE)
        b.attn.o.kernel[...] = w[p + "self_attn.o_proj.weight"].T.reshape(HEADS, SIZE, DIM)
        for name in ("gate", "up", "down"):
            getattr(b.mlp, name).kernel[...] = w[f"{p}mlp.{name}_proj.weight"].T
        b.norm1.scale[...] = w[p + "input_layernorm.weight"]
        b.norm2.scale[...] = w[p + "post_attention_layernorm.weight"]
    return model


def build():
    return load(Mistral(nnx.Rngs(0)), mistral_bf16.build().state_dict())
