"""GPT-NeoX in plain JAX: query, key and value apart, the layers vmapped over the batch."""

import jax
import jax.numpy as jnp
import neox_hf

HEADS, SIZE, ROTARY = 3, 16, 4


def norm(p, x):
    x = x - x.mean(-1, keepdims=True)
    return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]


def rotated(x):
    """Rotate the first quarter of each head; x is (length, heads, size)."""
    angles = jnp.arange(x.shape[0])[:, None] / 10000 ** (jnp.arange(0, ROTARY, 2) / ROTARY)
    cos, sin = (f(angles)[:, None].astype(x.dtype) for f in (jnp.cos, jnp.sin))
    a, b, rest = x[..., : ROTARY // 2], x[..., ROTARY // 2 : ROTARY], x[..., ROTARY:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin, rest], axis=-1)


def attention(p, x):
    length = x.shape[0]
    q = rotated((x @ p["wq"] + p["bq"]).reshape(length, HEADS, SIZE))
    k = rotated((x @ p["wk"] + p["bk"]).reshape(length, HEADS, SIZE))
    v = (x @ p["wv"] + p["bv"]).reshape(length, HEADS, SIZE)
    scores = jnp.einsum("lhd,shd->hls", q, k) / SIZE**0.5
    scores = jnp.where(jnp.tri(length, dtype=bool), scores, -jnp.inf)
    out = jnp.einsum("hls,shd->lhd", jax.nn.softmax(scores), v)
    return out.reshape(length, -1) @ p["wo"] + p["bo"]


def feed_forward(p, x):
    return jax.nn.gelu(x @ p["up"] + p["bup"], approximate=False) @ p["down"] + p["bdown"]


def sequence(params, tokens):
    x = params["table"][tokens]
    for p in params["layers"]:
        x = x + attention(p, norm(p["norm_a"], x)) + feed_forward(p, norm(p["norm_f"], x))
    return norm(params["norm"], x) @ params["out"]


def model(params, tokens):
    return jax.vmap(sequence, in_axes=(None, 0))(params, tokens)


def split(weight):
    """NeoX stores (heads, 3, size) along the first axis; return query, key and value."""
    parts = weight.reshape(HEADS, 3, SIZE, -1)
    return [parts[:, i].reshape(HEADS * SIZE, -1) for i in range(3)]


def gains(state, name):
    return {"gain": state[f"{name}.weight"], "bias": state[f"{name}.bias"]}


def convert_layer(state, at):
    wq, wk, wv = (w.T for w in split(state[f"{at}.attention.query_key_value.weight"]))
    bq, bk, bv = (b[:, 0] for b in split(state[f"{at}.attention.query_key_value.bias"]))
    return {
        **{"wq": wq, "wk": wk, "wv": wv, "bq": bq, "bk": bk, "bv": bv},
        "wo": state[f"{at}.attention.dense.weight"].T,
        "bo": state[f"{at}.attention.dense.bias"],
        "up": state[f"{at}.mlp.dense_h_to_4h.weight"].T,
        "bup": state[f"{at}.mlp.dense_h_to_4h.bias"],
        "down": state[f"{at}.mlp.dense_4h_to_h.weight"].T,
        "bdown": state[f"{at}.mlp.dense_4h_to_h.bias"],
        "norm_a": gains(state, f"{at}.input_layernorm"),
        "norm_f": gains(state, f"{at}.post_attention_layernorm"),
    }


def convert(state):
    return {
        "table": state["gpt_neox.embed_in.weight"],
        "layers": [convert_layer(state, f"gpt_neox.layers.{i}") for i in range(2)],
        "norm": gains(state, "gpt_neox.final_layer_norm"),
        "out": state["lm_head.weight"].T,
    }


def build():
    state = {name: jnp.asarray(value.numpy()) for name, value in neox_hf.build().state_dict().items()}
    return model, convert(state)


inputs = neox_hf.inputs
