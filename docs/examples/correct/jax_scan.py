"""Layers stacked and run by `lax.scan`, and keys read one at a time by another scan."""

import jax
import jax.numpy as jnp

framework = "jax"
architectures = {"language_model": ("llama",)}


@jax.jit
def _online(query, key, value):
    def step(carry, pair):
        highest, total, mixed = carry
        k, v = pair
        logit = jnp.einsum("bhld,bhd->bhl", query, k)
        new = jnp.maximum(highest, logit)
        old_part, new_part = jnp.exp(highest - new), jnp.exp(logit - new)
        mixed = mixed * old_part[..., None] + new_part[..., None] * v[:, :, None, :]
        return (new, total * old_part + new_part, mixed), None

    rows = query.shape[:-1]
    start = (jnp.full(rows, -jnp.inf, query.dtype), jnp.zeros(rows, query.dtype))
    start = (*start, jnp.zeros((*rows, value.shape[-1]), query.dtype))
    (_, total, mixed), _ = jax.lax.scan(step, start, (jnp.moveaxis(key, 2, 0), jnp.moveaxis(value, 2, 0)))
    return mixed / total[..., None]


def scaled_dot_product_attention(query, key, value):
    return _online(query * query.shape[-1] ** -0.5, key, value)


def _rms(x, gamma, eps):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + eps) * gamma


def _turn(x, base):
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * base ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[None, :, None], jnp.sin(angles)[None, :, None]
    left, right = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], -1)


def language_model(tokens, weights, config):
    leaves = [
        (
            *(getattr(layer.self_attention, name) for name in ("w_q", "w_k", "w_v", "w_o")),
            *(getattr(layer.feed_forward, name) for name in ("w_gate", "w_up", "w_down")),
            layer.norm_1.gamma,
            layer.norm_2.gamma,
        )
        for layer in weights.layers
    ]
    stacked = tuple(jnp.stack(parts) for parts in zip(*leaves, strict=True))
    return _forward(tokens, weights.embedding, weights.unembedding, weights.final_norm.gamma, stacked, config)


def _forward(tokens, table, unembedding, final_gamma, stacked, config):
    batch, length = tokens.shape
    keep = jnp.tri(length, dtype=bool)

    def block(x, parameters):
        w_q, w_k, w_v, w_o, w_gate, w_up, w_down, gamma_1, gamma_2 = parameters
        y = _rms(x, gamma_1, config.eps)
        q = _turn((y @ w_q).reshape(batch, length, config.num_heads, -1), config.rotary_base)
        k = _turn((y @ w_k).reshape(batch, length, config.num_kv_heads, -1), config.rotary_base)
        v = (y @ w_v).reshape(batch, length, config.num_kv_heads, -1)
        k, v = (jnp.repeat(part, config.num_heads // config.num_kv_heads, axis=2) for part in (k, v))
        logits = jnp.einsum("blhd,bshd->bhls", q, k) / jnp.sqrt(q.shape[-1])
        mixed = jnp.einsum("bhls,bshd->blhd", jax.nn.softmax(jnp.where(keep, logits, -jnp.inf)), v)
        x = x + mixed.reshape(batch, length, -1) @ w_o
        y = _rms(x, gamma_2, config.eps)
        return x + (jax.nn.silu(y @ w_gate) * (y @ w_up)) @ w_down, None

    x, _ = jax.lax.scan(block, table[tokens], stacked)
    return _rms(x, final_gamma, config.eps) @ unembedding
