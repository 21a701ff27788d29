"""OLMo 2 in JAX: layers stacked and scanned, heads split by reshaping, grouped keys by repetition."""

import functools

import jax
import jax.numpy as jnp
import olmo2_hf

DEPTH, HEADS, GROUPS, SIZE = 2, 4, 2, 12


def rms_norm(x, gain, eps=1e-6):
    return gain * (x / jnp.sqrt((x * x).mean(axis=-1, keepdims=True) + eps))


def rotary(x, theta=5e5):
    t, d = x.shape[-3], x.shape[-1]
    inverse = 1.0 / theta ** (jnp.arange(0, d, 2) / d)
    angles = jnp.outer(jnp.arange(t), inverse)
    angles = jnp.concatenate([angles, angles], axis=-1)[:, None, :]
    turned = jnp.concatenate([-x[..., d // 2 :], x[..., : d // 2]], axis=-1)
    return x * jnp.cos(angles) + turned * jnp.sin(angles)


def attention(layer, x):
    b, t, _ = x.shape
    q = rms_norm(x @ layer["wq"], layer["q_norm"]).reshape(b, t, HEADS, SIZE)
    k = rms_norm(x @ layer["wk"], layer["k_norm"]).reshape(b, t, GROUPS, SIZE)
    v = (x @ layer["wv"]).reshape(b, t, GROUPS, SIZE)
    q, k = rotary(q), jnp.repeat(rotary(k), HEADS // GROUPS, axis=2)
    v = jnp.repeat(v, HEADS // GROUPS, axis=2)
    scores = jnp.einsum("bthd,bshd->bhts", q, k) * SIZE**-0.5
    scores = scores + jnp.triu(jnp.full((t, t), -1e30), k=1)
    mixed = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, axis=-1), v)
    return mixed.reshape(b, t, HEADS * SIZE) @ layer["wo"]


def network(layer, x):
    return (jax.nn.silu(x @ layer["gate"]) * (x @ layer["up"])) @ layer["down"]


def step(x, layer):
    x = x + rms_norm(attention(layer, x), layer["norm_attention"])
    x = x + rms_norm(network(layer, x), layer["norm_network"])
    return x, None


def olmo(params, tokens):
    x = jnp.take(params["embed"], tokens, axis=0)
    x, _ = jax.lax.scan(step, x, params["layers"])
    return rms_norm(x, params["norm"]) @ params["head"]


NAMES = {
    "wq": "self_attn.q_proj",
    "wk": "self_attn.k_proj",
    "wv": "self_attn.v_proj",
    "wo": "self_attn.o_proj",
    "q_norm": "self_attn.q_norm",
    "k_norm": "self_attn.k_norm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
    "norm_attention": "post_attention_layernorm",
    "norm_network": "post_feedforward_layernorm",
}


def build():
    state = {name: jnp.asarray(value.numpy()) for name, value in olmo2_hf.build().state_dict().items()}
    stacked = functools.partial(jnp.stack, axis=0)
    layers = {
        new: stacked([state[f"model.layers.{i}.{old}.weight"].T for i in range(DEPTH)]) for new, old in NAMES.items()
    }
    params = {
        "embed": state["model.embed_tokens.weight"],
        "layers": layers,
        "norm": state["model.norm.weight"],
        "head": state["lm_head.weight"].T,
    }
    return olmo, params
