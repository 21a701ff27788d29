"""Gemma 2 in Flax NNX: gains stored as they are applied, gate and up in one array, the soft caps by hand."""

import gemma2_hf
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


def soft_cap(x, cap):
    return cap * jnp.tanh(x / cap)


def rope(x, positions):
    size = x.shape[-1]
    angle = positions[:, None] * 10_000.0 ** (-2.0 * jnp.arange(size // 2) / size)
    cos, sin = jnp.cos(angle)[:, None].astype(x.dtype), jnp.sin(angle)[:, None].astype(x.dtype)
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


class Norm(nnx.Module):
    def __init__(self, width):
        self.gain = nnx.Param(jnp.ones(width))

    def __call__(self, x):
        return x * jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6) * self.gain[...]


class Attention(nnx.Module):
    def __init__(self, c, windowed, rngs):
        width, heads, groups, size = c.hidden_size, c.num_attention_heads, c.num_key_value_heads, c.head_dim
        self.q = nnx.LinearGeneral(width, (heads, size), use_bias=False, rngs=rngs)
        self.k = nnx.LinearGeneral(width, (groups, size), use_bias=False, rngs=rngs)
        self.v = nnx.LinearGeneral(width, (groups, size), use_bias=False, rngs=rngs)
        self.o = nnx.LinearGeneral((heads, size), width, axis=(-2, -1), use_bias=False, rngs=rngs)
        self.window = c.sliding_window if windowed else None
        self.scale = c.query_pre_attn_scalar**-0.5
        self.cap = c.attn_logit_softcapping

    def __call__(self, x):
        places = jnp.arange(x.shape[1])
        q, k, v = rope(self.q(x), places) * self.scale, rope(self.k(x), places), self.v(x)
        b, n, heads, size = q.shape
        q = q.reshape(b, n, k.shape[2], -1, size)
        logits = soft_cap(jnp.einsum("blgqd,bsgd->bgqls", q, k), self.cap)
        back = places[:, None] - places[None, :]
        mask = back >= 0
        if self.window is not None:
            mask &= back < self.window
        weights = jax.nn.softmax(jnp.where(mask, logits, jnp.finfo(logits.dtype).min), axis=-1)
        return self.o(jnp.einsum("bgqls,bsgd->blgqd", weights, v).reshape(b, n, heads, size))


class Block(nnx.Module):
    def __init__(self, c, windowed, rngs):
        self.before_attention, self.after_attention = Norm(c.hidden_size), Norm(c.hidden_size)
        self.before_mlp, self.after_mlp = Norm(c.hidden_size), Norm(c.hidden_size)
        self.attention = Attention(c, windowed, rngs)
        self.gate_up = nnx.Param(jnp.zeros((2, c.hidden_size, c.intermediate_size)))
        self.down = nnx.Linear(c.intermediate_size, c.hidden_size, use_bias=False, rngs=rngs)

    def __call__(self, x):
        x = x + self.after_attention(self.attention(self.before_attention(x)))
        gate, up = jnp.einsum("bld,cdf->cblf", self.before_mlp(x), self.gate_up[...])
        return x + self.after_mlp(self.down(nnx.gelu(gate, approximate=True) * up))


class Gemma2(nnx.Module):
    def __init__(self, c, rngs):
        self.table = nnx.Embed(c.vocab_size, c.hidden_size, rngs=rngs)
        self.blocks = nnx.List([Block(c, i % 2 == 0, rngs) for i in range(c.num_hidden_layers)])
        self.last = Norm(c.hidden_size)
        self.cap = c.final_logit_softcapping

    def __call__(self, tokens):
        x = self.table(tokens)
        x = x * jnp.asarray(x.shape[-1] ** 0.5, x.dtype)
        for block in self.blocks:
            x = block(x)
        return soft_cap(self.table.attend(self.last(x)), self.cap)


def heads(weight, count):
    """Torch's (heads · size, width) as (width, heads, size)."""
    return jnp.asarray(weight.T.reshape(weight.shape[1], count, -1))


def gain(state, name):
    """Gemma stores what is added to one."""
    return jnp.asarray(1 + state[f"{name}.weight"])


def convert(model, state, c):
    model.table.embedding[...] = jnp.asarray(state["model.embed_tokens.weight"])
    model.last.gain[...] = gain(state, "model.norm")
    for i, block in enumerate(model.blocks):
        at = f"model.layers.{i}"
        block.before_attention.gain[...] = gain(state, f"{at}.input_layernorm")
        block.after_attention.gain[...] = gain(state, f"{at}.post_attention_layernorm")
        block.before_mlp.gain[...] = gain(state, f"{at}.pre_feedforward_layernorm")
        block.after_mlp.gain[...] = gain(state, f"{at}.post_feedforward_layernorm")
        q, k, v, o = (state[f"{at}.self_attn.{n}_proj.weight"] for n in "qkvo")
        block.attention.q.kernel[...] = heads(q, c.num_attention_heads)
        block.attention.k.kernel[...] = heads(k, c.num_key_value_heads)
        block.attention.v.kernel[...] = heads(v, c.num_key_value_heads)
        block.attention.o.kernel[...] = jnp.asarray(o.T.reshape(c.num_attention_heads, c.head_dim, -1))
        gate, up, down = (state[f"{at}.mlp.{n}_proj.weight"] for n in ("gate", "up", "down"))
        block.gate_up[...] = jnp.asarray(np.stack([gate.T, up.T]))
        block.down.kernel[...] = jnp.asarray(down.T)
    return model


def build():
    state = {name: value.numpy() for name, value in gemma2_hf.build().state_dict().items()}
    c = gemma2_hf.config()
    return convert(Gemma2(c, nnx.Rngs(4)), state, c)


inputs = gemma2_hf.inputs
