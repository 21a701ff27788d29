"""The mixture of experts in JAX, plain functions over a tree of arrays."""

import importlib

import jax
import jax.numpy as jnp

CONFIG = {"heads": 4, "top_k": 2, "renormalize": False, "routed_scaling_factor": 2.5}


def rms(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weight


def attention(p, x):
    b, n, e = x.shape
    q, k, v = (t.reshape(b, n, CONFIG["heads"], -1) for t in jnp.split(x @ p["qkv"], 3, -1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    scores = jnp.where(jnp.tri(n, dtype=bool), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(b, n, e) @ p["o"]


def top_k(p, x):
    scores = jax.nn.sigmoid(x @ p["gate"])
    ids = jax.lax.top_k(scores + p["bias"], CONFIG["top_k"])[1]
    weights = jnp.take_along_axis(scores, ids, -1)
    if CONFIG["renormalize"]:
        weights = weights / weights.sum(-1, keepdims=True)
    weights = weights * CONFIG["routed_scaling_factor"]
    return weights, ids


def mlp(p, x):
    return (jax.nn.silu(x @ p["gate_proj"]) * (x @ p["up_proj"])) @ p["down_proj"]


def moe(p, x):
    weights, ids = top_k(p, x)
    share = jnp.sum(jax.nn.one_hot(ids, p["gate"].shape[-1]) * weights[..., None], -2)
    each = jax.vmap(mlp, in_axes=(0, None), out_axes=-2)(p["experts"], x)
    return jnp.einsum("blxe,blx->ble", each, share) + mlp(p["shared"], x)


def forward(params, ids):
    x = params["embed"][ids] + params["positions"][: ids.shape[1]]
    for p in params["layers"]:
        x = x + attention(p["attn"], rms(x, p["norm1"]))
        x = x + moe(p["moe"], rms(x, p["norm2"]))
    return rms(x, params["norm"]) @ params["head"]


def load(state):
    w = {name: jnp.asarray(tensor.detach().numpy()) for name, tensor in state.items()}
    expert = lambda at: {name: w[f"{at}.{name}.weight"].T for name in ("gate_proj", "up_proj", "down_proj")}
    layers = []
    for i in range(2):
        at = f"layers.{i}"
        experts = [expert(f"{at}.moe.experts.{e}") for e in range(6)]
        sparse = {"gate": w[f"{at}.moe.gate.weight"].T, "bias": w[f"{at}.moe.e_score_correction_bias"]}
        sparse |= {"shared": expert(f"{at}.moe.shared"), "experts": jax.tree.map(lambda *t: jnp.stack(t), *experts)}
        dense = {"qkv": w[f"{at}.attn.qkv_proj.weight"].T, "o": w[f"{at}.attn.o_proj.weight"].T}
        layers.append({"attn": dense, "moe": sparse, "norm1": w[f"{at}.norm1.weight"], "norm2": w[f"{at}.norm2.weight"]})
    top = {"embed": w["embed.weight"], "positions": w["positions.weight"], "norm": w["norm.weight"], "head": w["head.weight"].T}
    return top | {"layers": layers}


def build():
    return forward, load(importlib.import_module("59_factor_with_renormalising_original").build().state_dict())
