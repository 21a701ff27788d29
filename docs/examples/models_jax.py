"""Whole Transformers in plain JAX: every architecture, and decoding with a cache of keys and values."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
conventions = {"gelu_form": "tanh", "rotary_pairing": "interleaved", "sinusoidal_layout": "concatenated"}


def as_tree(value):
    """Return records of weights as dictionaries, which JAX can trace."""
    if isinstance(value, list):
        return [as_tree(part) for part in value]
    if value is None or isinstance(value, jax.Array):
        return value
    return {name: as_tree(part) for name, part in vars(value).items()}


def encoder(tokens, weights, config, *, padding_mask=None):
    return encode(as_tree(weights), tokens, padding_mask, config)


def encoder_decoder(source, target, weights, config, *, source_padding_mask=None, target_padding_mask=None):
    return translate(as_tree(weights), source, target, source_padding_mask, target_padding_mask, config)


def language_model(tokens, weights, config, *, padding_mask=None):
    return continued(as_tree(weights), tokens, None, padding_mask, config)[0]


def decode_step(tokens, cache, weights, config):
    return continued(as_tree(weights), tokens, cache, None, config)


@partial(jax.jit, static_argnames=("config",))
def encode(weights, tokens, padding_mask, config):
    x = embed(tokens, weights["embedding"], weights["positions"], weights["embedding_norm"], config)
    for layer in weights["layers"]:
        x, _ = apply_layer(x, layer, config, keys_only(padding_mask))
    return norm(x, weights["final_norm"], config)


@partial(jax.jit, static_argnames=("config",))
def translate(weights, source, target, source_padding_mask, target_padding_mask, config):
    table, seen = weights["embedding"], keys_only(source_padding_mask)
    memory = embed(source, table, weights["encoder_positions"], weights["encoder_embedding_norm"], config)
    for layer in weights["encoder_layers"]:
        memory, _ = apply_layer(memory, layer, config, seen)
    memory = norm(memory, weights["encoder_final_norm"], config)

    x = embed(target, table, weights["decoder_positions"], weights["decoder_embedding_norm"], config)
    visible = causal(target.shape[1], 0)
    if target_padding_mask is not None:
        visible = visible & keys_only(target_padding_mask)
    for layer in weights["decoder_layers"]:
        x = norm(x + self_attention(x, layer["self_attention"], config, visible)[0], layer["norm_1"], config)
        x = norm(x + cross_attention(x, memory, layer["cross_attention"], config, seen), layer["norm_2"], config)
        x = norm(x + network(x, layer["feed_forward"], config), layer["norm_3"], config)
    return unembed(norm(x, weights["decoder_final_norm"], config), weights)


@partial(jax.jit, static_argnames=("config",))
def continued(weights, tokens, cache, padding_mask, config):
    start = 0 if cache is None else cache[0][0].shape[1]
    x = embed(tokens, weights["embedding"], weights["positions"], weights["embedding_norm"], config, start)
    visible = causal(tokens.shape[1], start)
    if padding_mask is not None:
        visible = visible & keys_only(padding_mask)
    extended = []
    for number, layer in enumerate(weights["layers"]):
        x, known = apply_layer(x, layer, config, visible, None if cache is None else cache[number])
        extended.append(known)
    return unembed(norm(x, weights["final_norm"], config), weights), extended


def embed(tokens, table, positions, embedding_norm, config, start=0):
    x = table[tokens]
    if config.scale_embedding:
        x = x * jnp.sqrt(config.d_model).astype(x.dtype)
    end = start + tokens.shape[1]
    if config.positions == "sinusoidal":
        x = x + sinusoids(end, config.d_model)[start:].astype(x.dtype)
    if config.positions == "learned":
        x = x + positions[start:end]
    return norm(x, embedding_norm, config)


def sinusoids(length, d_model):
    frequencies = 10000.0 ** (-jnp.arange(0, d_model, 2) / d_model)
    angles = jnp.arange(length)[:, None] * frequencies
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)


def unembed(x, weights):
    return x @ (weights["embedding"].T if weights["unembedding"] is None else weights["unembedding"])


def apply_layer(x, layer, config, visible, past=None):
    if config.norm_first:
        inner = norm(x, layer["norm_1"], config)
        attended, known = self_attention(inner, layer["self_attention"], config, visible, past)
        x = x + attended
        return x + network(norm(x, layer["norm_2"], config), layer["feed_forward"], config), known
    attended, known = self_attention(x, layer["self_attention"], config, visible, past)
    x = norm(x + attended, layer["norm_1"], config)
    return norm(x + network(x, layer["feed_forward"], config), layer["norm_2"], config), known


def self_attention(x, weights, config, visible, past=None):
    query = project(x, weights, "q", config.num_heads)
    key = project(x, weights, "k", config.num_kv_heads)
    value = project(x, weights, "v", config.num_kv_heads)
    start = 0 if past is None else past[0].shape[1]
    if config.positions == "rotary":
        query, key = rotate(query, start, config.rotary_base), rotate(key, start, config.rotary_base)
    if past is not None:
        key = jnp.concatenate([past[0], key], axis=1)
        value = jnp.concatenate([past[1], value], axis=1)
    return mix(query, key, value, weights, visible), (key, value)


def cross_attention(x, memory, weights, config, visible):
    query = project(x, weights, "q", config.num_heads)
    key, value = (project(memory, weights, name, config.num_heads) for name in "kv")
    return mix(query, key, value, weights, visible)


def project(x, weights, name, heads):
    projected = x @ weights[f"w_{name}"]
    if weights[f"b_{name}"] is not None:
        projected = projected + weights[f"b_{name}"]
    return projected.reshape(*x.shape[:2], heads, -1)


def rotate(x, start, base):
    positions = jnp.arange(start, start + x.shape[1])
    angles = positions[:, None] * base ** (-jnp.arange(0, x.shape[-1], 2) / x.shape[-1])
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = jnp.stack([even * cos - odd * sin, odd * cos + even * sin], axis=-1)
    return turned.reshape(x.shape).astype(x.dtype)


def mix(query, key, value, weights, visible):
    mixed = jax.nn.dot_product_attention(query, key, value, mask=visible)
    output = mixed.reshape(*mixed.shape[:2], -1) @ weights["w_o"]
    return output if weights["b_o"] is None else output + weights["b_o"]


def network(x, weights, config):
    activation = {"relu": jax.nn.relu, "gelu": jax.nn.gelu, "silu": jax.nn.silu}[config.activation]
    if config.gated:
        return (activation(x @ weights["w_gate"]) * (x @ weights["w_up"])) @ weights["w_down"]
    return activation(x @ weights["w_1"] + weights["b_1"]) @ weights["w_2"] + weights["b_2"]


def norm(x, weights, config):
    if weights is None:
        return x
    if config.norm == "rms_norm":
        return x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + config.eps) * weights["gamma"]
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = jnp.mean(centred**2, axis=-1, keepdims=True)
    return centred / jnp.sqrt(variance + config.eps) * weights["gamma"] + weights["beta"]


def causal(length, start):
    return (jnp.arange(start + length) <= jnp.arange(start, start + length)[:, None])[None, None]


def keys_only(padding_mask):
    return None if padding_mask is None else padding_mask[:, None, None, :]
