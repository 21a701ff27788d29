"""A port of it to Flax NNX, with a converter for the weights."""

import hf_llama
import jax
import jax.numpy as jnp
from flax import nnx


class RMSNorm(nnx.Module):
    def __init__(self, width, eps=1e-5):
        self.scale = nnx.Param(jnp.ones(width))
        self.eps = eps

    def __call__(self, x):
        return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + self.eps) * self.scale


def rotate(x, base=10_000.0):
    """Turn pairs of components of x, (batch, length, heads, size), by their position."""
    length, size = x.shape[1], x.shape[-1]
    angles = jnp.outer(jnp.arange(length), base ** (-jnp.arange(0, size, 2) / size))
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    even, odd = x[..., 0::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, odd * cos + even * sin], axis=-1).reshape(x.shape)


class Attention(nnx.Module):
    def __init__(self, width, heads, kv_heads, rngs):
        size = width // heads
        self.query = nnx.LinearGeneral(width, (heads, size), use_bias=False, rngs=rngs)
        self.key = nnx.LinearGeneral(width, (kv_heads, size), use_bias=False, rngs=rngs)
        self.value = nnx.LinearGeneral(width, (kv_heads, size), use_bias=False, rngs=rngs)
        self.out = nnx.LinearGeneral((heads, size), width, axis=(-2, -1), use_bias=False, rngs=rngs)
        self.repeats = heads // kv_heads

    def __call__(self, x):
        query, key, value = rotate(self.query(x)), rotate(self.key(x)), self.value(x)
        key, value = (jnp.tile(one, (1, 1, self.repeats, 1)) for one in (key, value))
        logits = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(query.shape[-1])
        causal = jnp.tril(jnp.ones(logits.shape[-2:], dtype=bool))
        weights = jax.nn.softmax(jnp.where(causal, logits, -jnp.inf), axis=-1)
        return self.out(jnp.einsum("bhqk,bkhd->bqhd", weights, value))


class MLP(nnx.Module):
    def __init__(self, width, hidden, rngs):
        self.gate_up = nnx.Linear(width, 2 * hidden, use_bias=False, rngs=rngs)
        self.down = nnx.Linear(hidden, width, use_bias=False, rngs=rngs)

    def __call__(self, x):
        gate, up = jnp.split(self.gate_up(x), 2, axis=-1)
        return self.down(nnx.silu(gate) * up)


class Block(nnx.Module):
    def __init__(self, config, rngs):
        width = config.hidden_size
        self.attention_norm, self.mlp_norm = RMSNorm(width), RMSNorm(width)
        self.attention = Attention(width, config.num_attention_heads, config.num_key_value_heads, rngs)
        self.mlp = MLP(width, config.intermediate_size, rngs)

    def __call__(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Llama(nnx.Module):
    def __init__(self, config, rngs):
        self.embed = nnx.Embed(config.vocab_size, config.hidden_size, rngs=rngs)
        self.blocks = nnx.List([Block(config, rngs) for _ in range(config.num_hidden_layers)])
        self.norm = RMSNorm(config.hidden_size)
        self.head = nnx.Linear(config.hidden_size, config.vocab_size, use_bias=False, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def convert(model, weights):
    """Fill the model with the weights of Hugging Face's state dict, as arrays."""
    model.embed.embedding[...] = weights["model.embed_tokens.weight"]
    for number, block in enumerate(model.blocks):
        layer = f"model.layers.{number}"
        block.attention_norm.scale[...] = weights[f"{layer}.input_layernorm.weight"]
        for name, part in {"q": "query", "k": "key", "v": "value", "o": "out"}.items():
            kernel = getattr(block.attention, part).kernel
            kernel[...] = weights[f"{layer}.self_attn.{name}_proj.weight"].T.reshape(kernel.shape)
        block.mlp_norm.scale[...] = weights[f"{layer}.post_attention_layernorm.weight"]
        up_gate = [weights[f"{layer}.mlp.{name}_proj.weight"].T for name in ("up", "gate")]
        block.mlp.gate_up.kernel[...] = jnp.concatenate(up_gate, axis=1)
        block.mlp.down.kernel[...] = weights[f"{layer}.mlp.down_proj.weight"].T
    model.norm.scale[...] = weights["model.norm.weight"]
    model.head.kernel[...] = weights["lm_head.weight"].T


def build():
    model = Llama(hf_llama.CONFIG, nnx.Rngs(0))
    state = hf_llama.build().state_dict()
    convert(model, {name: jnp.asarray(tensor.numpy()) for name, tensor in state.items()})
    return model
