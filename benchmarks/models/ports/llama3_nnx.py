"""Llama 3 in Flax NNX with einsums, after the examples of Gemma: kernels by head, queries before keys in one stack."""

import jax
import jax.numpy as jnp
import llama3_hf
import numpy as np
from flax import nnx


class RMSNorm(nnx.Module):
    def __init__(self, width, rngs, eps=1e-5):
        self.scale = nnx.Param(jnp.ones((width,)))
        self.eps = eps

    def __call__(self, x):
        variance = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
        return x * jax.lax.rsqrt(variance + self.eps) * self.scale[...]


def apply_rope(x, positions, base):
    fraction = 2 * jnp.arange(x.shape[-1] // 2) / x.shape[-1]
    timescale = base**fraction
    angle = positions[..., None, None] / timescale
    sin, cos = jnp.sin(angle).astype(x.dtype), jnp.cos(angle).astype(x.dtype)
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


class Attention(nnx.Module):
    def __init__(self, width, heads, groups, size, rngs):
        key = rngs.params()
        self.q_einsum = nnx.Param(jax.random.normal(key, (heads, width, size)))
        self.kv_einsum = nnx.Param(jax.random.normal(key, (2, groups, width, size)))
        self.attn_vec_einsum = nnx.Param(jax.random.normal(key, (heads, size, width)))
        self.repeats = heads // groups
        self.size = size

    def __call__(self, x, positions, mask):
        q = jnp.einsum("BTD,NDH->BTNH", x, self.q_einsum[...])
        k, v = jnp.einsum("BSD,CKDH->CBSKH", x, self.kv_einsum[...])
        q = apply_rope(q, positions, 500_000) * self.size**-0.5
        k = apply_rope(k, positions, 500_000)
        k, v = jnp.repeat(k, self.repeats, axis=2), jnp.repeat(v, self.repeats, axis=2)
        logits = jnp.einsum("BTNH,BSNH->BTNS", q, k)
        logits = jnp.where(mask[:, :, None, :], logits, -2.3819763e38)
        probs = jax.nn.softmax(logits, axis=-1)
        return jnp.einsum("BTNH,NHD->BTD", jnp.einsum("BTNS,BSNH->BTNH", probs, v), self.attn_vec_einsum[...])


class FeedForward(nnx.Module):
    def __init__(self, width, hidden, rngs):
        self.gate_proj = nnx.Linear(width, hidden, use_bias=False, rngs=rngs)
        self.up_proj = nnx.Linear(width, hidden, use_bias=False, rngs=rngs)
        self.down_proj = nnx.Linear(hidden, width, use_bias=False, rngs=rngs)

    def __call__(self, x):
        return self.down_proj(nnx.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nnx.Module):
    def __init__(self, c, rngs):
        self.attn = Attention(c.hidden_size, c.num_attention_heads, c.num_key_value_heads, c.head_dim, rngs)
        self.mlp = FeedForward(c.hidden_size, c.intermediate_size, rngs)
        self.pre_attention_norm = RMSNorm(c.hidden_size, rngs)
        self.pre_ffw_norm = RMSNorm(c.hidden_size, rngs)

    def __call__(self, x, positions, mask):
        x = x + self.attn(self.pre_attention_norm(x), positions, mask)
        return x + self.mlp(self.pre_ffw_norm(x))


class Llama3(nnx.Module):
    def __init__(self, c, rngs):
        self.embedder = nnx.Embed(c.vocab_size, c.hidden_size, rngs=rngs)
        self.layers = nnx.List([Block(c, rngs) for _ in range(c.num_hidden_layers)])
        self.final_norm = RMSNorm(c.hidden_size, rngs)

    def __call__(self, tokens):
        positions = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
        mask = positions[:, :, None] >= positions[:, None, :]
        x = self.embedder(tokens)
        for layer in self.layers:
            x = layer(x, positions, mask)
        return self.embedder.attend(self.final_norm(x))


def by_head(weight, heads):
    """Torch's (heads · size, width) as (heads, width, size)."""
    return np.swapaxes(weight.reshape(heads, -1, weight.shape[1]), 1, 2)


def convert(state, c):
    model = Llama3(c, nnx.Rngs(0))
    model.embedder.embedding[...] = jnp.asarray(state["model.embed_tokens.weight"])
    model.final_norm.scale[...] = jnp.asarray(state["model.norm.weight"])
    for i, layer in enumerate(model.layers):
        own = {n.removeprefix(f"model.layers.{i}."): v for n, v in state.items() if f"layers.{i}." in n}
        q, k, v = (own[f"self_attn.{n}_proj.weight"] for n in "qkv")
        layer.attn.q_einsum[...] = jnp.asarray(by_head(q, c.num_attention_heads))
        kv = np.stack([by_head(k, c.num_key_value_heads), by_head(v, c.num_key_value_heads)])
        layer.attn.kv_einsum[...] = jnp.asarray(kv)
        out = own["self_attn.o_proj.weight"].T.reshape(c.num_attention_heads, c.head_dim, c.hidden_size)
        layer.attn.attn_vec_einsum[...] = jnp.asarray(out)
        layer.mlp.gate_proj.kernel[...] = jnp.asarray(own["mlp.gate_proj.weight"].T)
        layer.mlp.up_proj.kernel[...] = jnp.asarray(own["mlp.up_proj.weight"].T)
        layer.mlp.down_proj.kernel[...] = jnp.asarray(own["mlp.down_proj.weight"].T)
        layer.pre_attention_norm.scale[...] = jnp.asarray(own["input_layernorm.weight"])
        layer.pre_ffw_norm.scale[...] = jnp.asarray(own["post_attention_layernorm.weight"])
    return model


def build():
    state = {name: value.numpy() for name, value in llama3_hf.build().state_dict().items()}
    return convert(state, llama3_hf.config())


inputs = llama3_hf.inputs
