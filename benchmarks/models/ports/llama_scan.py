"""Llama in plain JAX: stacked layers under lax.scan, kernels by head."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import llama_hf
import numpy as np
from jax import lax


class Layers(NamedTuple):
    w_q: jax.Array  # (layers, dim, groups, queries of a group, head_dim)
    w_k: jax.Array  # (layers, dim, groups, head_dim)
    w_v: jax.Array
    w_o: jax.Array  # (layers, groups, queries of a group, head_dim, dim)
    w_gate: jax.Array
    w_up: jax.Array
    w_down: jax.Array
    before_attention: jax.Array
    before_ffn: jax.Array


class Weights(NamedTuple):
    embed: jax.Array
    layers: Layers
    final: jax.Array
    unembed: jax.Array


GROUPS, QUERIES, HEAD_DIM, THETA = 2, 2, 12, 10000.0


def rms(x, gain, eps=1e-6):
    return gain * x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps)


def rope(x, positions):
    """Rotate halves; x is (batch, length, ..., head_dim)."""
    half = x.shape[-1] // 2
    frequencies = THETA ** (-jnp.arange(half, dtype=x.dtype) / half)
    angles = positions.astype(x.dtype)[:, None] * frequencies
    angles = angles.reshape(angles.shape[0], *(1,) * (x.ndim - 3), half)
    first, second = x[..., :half], x[..., half:]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def attention(x, w):
    length = x.shape[1]
    positions = jnp.arange(length)
    q = rope(jnp.einsum("bld,dgqh->blgqh", x, w.w_q), positions)
    k = rope(jnp.einsum("bsd,dgh->bsgh", x, w.w_k), positions)
    v = jnp.einsum("bsd,dgh->bsgh", x, w.w_v)
    logits = jnp.einsum("blgqh,bsgh->bgqls", q, k) * HEAD_DIM**-0.5
    visible = positions[:, None] >= positions[None, :]
    weights = jax.nn.softmax(jnp.where(visible, logits, -1e9), axis=-1)
    mixed = jnp.einsum("bgqls,bsgh->blgqh", weights, v)
    return jnp.einsum("blgqh,gqhd->bld", mixed, w.w_o)


def layer(x, w):
    x = x + attention(rms(x, w.before_attention), w)
    y = rms(x, w.before_ffn)
    x = x + (jax.nn.silu(y @ w.w_gate) * (y @ w.w_up)) @ w.w_down
    return x, None


@jax.jit
def llama(weights, tokens):
    x = jnp.take(weights.embed, tokens, axis=0)
    x, _ = lax.scan(layer, x, weights.layers)
    return rms(x, weights.final) @ weights.unembed


def convert(state, count=2):
    """Stack the layers; torch's kernels are (out, in)."""

    def stacked(name):
        return np.stack([state[f"model.layers.{i}.{name}.weight"] for i in range(count)])

    def kernels(name):
        return stacked(name).swapaxes(-1, -2)

    dim = state["model.norm.weight"].shape[0]
    layers = Layers(
        w_q=kernels("self_attn.q_proj").reshape(count, dim, GROUPS, QUERIES, HEAD_DIM),
        w_k=kernels("self_attn.k_proj").reshape(count, dim, GROUPS, HEAD_DIM),
        w_v=kernels("self_attn.v_proj").reshape(count, dim, GROUPS, HEAD_DIM),
        w_o=kernels("self_attn.o_proj").reshape(count, GROUPS, QUERIES, HEAD_DIM, dim),
        w_gate=kernels("mlp.gate_proj"),
        w_up=kernels("mlp.up_proj"),
        w_down=kernels("mlp.down_proj"),
        before_attention=stacked("input_layernorm"),
        before_ffn=stacked("post_attention_layernorm"),
    )
    unembed = state["lm_head.weight"].T
    return Weights(state["model.embed_tokens.weight"], layers, state["model.norm.weight"], unembed)


def build():
    state = {name: value.numpy() for name, value in llama_hf.build().state_dict().items()}
    return llama, jax.tree.map(jnp.asarray, convert(state))


inputs = llama_hf.inputs
