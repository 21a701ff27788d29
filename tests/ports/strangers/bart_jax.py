"""BART in JAX: a dictionary of arrays with the names of the checkpoint, functions over it."""

import bart_hf
import jax
import jax.numpy as jnp

HEADS, WIDTH = 4, 32


def linear(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def layer_norm(p, name, x):
    mu = x.mean(-1, keepdims=True)
    var = ((x - mu) ** 2).mean(-1, keepdims=True)
    return (x - mu) / jnp.sqrt(var + 1e-5) * p[name + ".weight"] + p[name + ".bias"]


def split(x):
    return x.reshape(*x.shape[:-1], HEADS, -1).transpose(0, 2, 1, 3)


def attend(p, name, x, memory, mask=None):
    q = split(linear(p, name + ".q_proj", x)) * (WIDTH // HEADS) ** -0.5
    k, v = split(linear(p, name + ".k_proj", memory)), split(linear(p, name + ".v_proj", memory))
    scores = q @ k.swapaxes(-1, -2)
    if mask is not None:
        scores = jnp.where(mask, scores, -1e30)
    y = jax.nn.softmax(scores, -1) @ v
    return linear(p, name + ".out_proj", y.transpose(0, 2, 1, 3).reshape(x.shape))


def feed_forward(p, name, x):
    return linear(p, name + ".fc2", jax.nn.gelu(linear(p, name + ".fc1", x), approximate=False))


def embed(p, side, tokens):
    x = p["model.shared.weight"][tokens] * jnp.sqrt(WIDTH)
    x = x + p[f"model.{side}.embed_positions.weight"][2 : 2 + tokens.shape[1]]
    return layer_norm(p, f"model.{side}.layernorm_embedding", x)


def bart(p, source, target):
    x = embed(p, "encoder", source)
    for i in range(2):
        n = f"model.encoder.layers.{i}"
        x = layer_norm(p, n + ".self_attn_layer_norm", x + attend(p, n + ".self_attn", x, x))
        x = layer_norm(p, n + ".final_layer_norm", x + feed_forward(p, n, x))
    y = embed(p, "decoder", target)
    causal = jnp.tril(jnp.ones((target.shape[1], target.shape[1]), bool))
    for i in range(2):
        n = f"model.decoder.layers.{i}"
        y = layer_norm(p, n + ".self_attn_layer_norm", y + attend(p, n + ".self_attn", y, y, causal))
        y = layer_norm(p, n + ".encoder_attn_layer_norm", y + attend(p, n + ".encoder_attn", y, x))
        y = layer_norm(p, n + ".final_layer_norm", y + feed_forward(p, n, y))
    return y @ p["model.shared.weight"].T + p["final_logits_bias"]


def build():
    model = bart_hf.build()
    params = {name: jnp.asarray(value.numpy()) for name, value in model.state_dict().items()}
    for name in ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"):
        params.pop(name, None)
    return bart, params
