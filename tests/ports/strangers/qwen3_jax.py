"""Qwen3 as pure functions, everything cast to float32 as on a TPU."""

import jax
import jax.numpy as jnp
import qwen3_hf

N_HEADS, N_KV, HEAD = 4, 2, 16


def rms_norm(x, gamma, eps=1e-6):
    x = x.astype(jnp.float32)
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + eps) * gamma


def rope(x, positions, theta=10000.0):
    half = x.shape[-1] // 2
    freq = theta ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle = positions[:, None].astype(jnp.float32) * freq
    cos, sin = jnp.cos(angle)[:, None, :], jnp.sin(angle)[:, None, :]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attention(p, x, positions):
    B, T, _ = x.shape
    q = jnp.einsum("btd,dnh->btnh", x, p["q"])
    k = jnp.einsum("btd,dnh->btnh", x, p["k"])
    v = jnp.einsum("btd,dnh->btnh", x, p["v"])
    q = rope(rms_norm(q, p["q_norm"]), positions)
    k = rope(rms_norm(k, p["k_norm"]), positions)
    q = q.reshape(B, T, N_KV, N_HEADS // N_KV, HEAD)
    scores = jnp.einsum("btkgh,bskh->bkgts", q, k) / jnp.sqrt(jnp.float32(HEAD))
    mask = positions[:, None] >= positions[None, :]
    scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
    probs = jax.nn.softmax(scores, axis=-1)
    out = jnp.einsum("bkgts,bskh->btkgh", probs, v).reshape(B, T, N_HEADS, HEAD)
    return jnp.einsum("btnh,nhd->btd", out, p["o"])


def block(p, x, positions):
    x = x + attention(p["attn"], rms_norm(x, p["ln1"]), positions)
    y = rms_norm(x, p["ln2"])
    return x + (jax.nn.silu(y @ p["mlp"]["gate"]) * (y @ p["mlp"]["up"])) @ p["mlp"]["down"]


def forward(params, tokens):
    positions = jnp.arange(tokens.shape[1])
    x = jnp.take(params["embed"], tokens, axis=0).astype(jnp.float32)
    for p in params["layers"]:
        x = block(p, x, positions)
    return rms_norm(x, params["final"]) @ params["head"]


def convert(sd):
    def get(name):
        return jnp.asarray(sd[name].numpy(), dtype=jnp.float32)

    def heads(name):
        w = get(name)
        return w.T.reshape(w.shape[1], -1, HEAD)

    layers = []
    for i in range(2):
        p = f"model.layers.{i}."
        layers.append(
            {
                "attn": {
                    "q": heads(p + "self_attn.q_proj.weight"),
                    "k": heads(p + "self_attn.k_proj.weight"),
                    "v": heads(p + "self_attn.v_proj.weight"),
                    "o": get(p + "self_attn.o_proj.weight").T.reshape(N_HEADS, HEAD, -1),
                    "q_norm": get(p + "self_attn.q_norm.weight"),
                    "k_norm": get(p + "self_attn.k_norm.weight"),
                },
                "mlp": {
                    "gate": get(p + "mlp.gate_proj.weight").T,
                    "up": get(p + "mlp.up_proj.weight").T,
                    "down": get(p + "mlp.down_proj.weight").T,
                },
                "ln1": get(p + "input_layernorm.weight"),
                "ln2": get(p + "post_attention_layernorm.weight"),
            }
        )
    return {
        "embed": get("model.embed_tokens.weight"),
        "layers": layers,
        "final": get("model.norm.weight"),
        "head": get("lm_head.weight").T,
    }


def build():
    return forward, convert(qwen3_hf.build().state_dict())
