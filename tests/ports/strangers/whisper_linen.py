"""Whisper in Flax Linen with its own MultiHeadDotProductAttention."""

import jax
import jax.numpy as jnp
import whisper_hf
from flax import linen as nn

WIDTH, HEADS = 32, 4


class Attention(nn.Module):
    @nn.compact
    def __call__(self, x, memory, mask=None):
        size = WIDTH // HEADS
        q = nn.DenseGeneral((HEADS, size), name="query")(x)
        k = nn.DenseGeneral((HEADS, size), use_bias=False, name="key")(memory)
        v = nn.DenseGeneral((HEADS, size), name="value")(memory)
        y = nn.dot_product_attention(q, k, v, mask=mask, deterministic=True)
        return nn.DenseGeneral(WIDTH, axis=(-2, -1), name="out")(y)


class Block(nn.Module):
    crossed: bool = False

    @nn.compact
    def __call__(self, x, memory=None, mask=None):
        y = nn.LayerNorm(epsilon=1e-5, name="attn_ln")(x)
        x = x + Attention(name="attn")(y, y, mask)
        if self.crossed:
            y = nn.LayerNorm(epsilon=1e-5, name="cross_attn_ln")(x)
            x = x + Attention(name="cross_attn")(y, memory)
        y = nn.LayerNorm(epsilon=1e-5, name="mlp_ln")(x)
        y = nn.Dense(64, name="mlp_1")(y)
        return x + nn.Dense(WIDTH, name="mlp_2")(nn.gelu(y, approximate=False))


class Whisper(nn.Module):
    @nn.compact
    def __call__(self, mel, tokens):
        x = mel.transpose(0, 2, 1)
        x = nn.gelu(nn.Conv(WIDTH, (3,), padding=1, name="conv1")(x), approximate=False)
        x = nn.gelu(nn.Conv(WIDTH, (3,), strides=2, padding=1, name="conv2")(x), approximate=False)
        x = x + self.param("encoder_positions", nn.initializers.zeros, (12, WIDTH))[: x.shape[1]]
        for i in range(2):
            x = Block(name=f"encoder_{i}")(x)
        x = nn.LayerNorm(epsilon=1e-5, name="encoder_ln")(x)
        embed = nn.Embed(63, WIDTH, name="token_embedding")
        y = embed(tokens) + self.param("decoder_positions", nn.initializers.zeros, (16, WIDTH))[: tokens.shape[1]]
        mask = nn.make_causal_mask(tokens)
        for i in range(2):
            y = Block(crossed=True, name=f"decoder_{i}")(y, x, mask)
        return embed.attend(nn.LayerNorm(epsilon=1e-5, name="decoder_ln")(y))


def dense(w, name):
    out = {"kernel": w[name + ".weight"].T}
    if name + ".bias" in w:
        out["bias"] = w[name + ".bias"]
    return out


def norm(w, name):
    return {"scale": w[name + ".weight"], "bias": w[name + ".bias"]}


def attention(w, name):
    size = WIDTH // HEADS
    out = {}
    for ours, theirs in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj")):
        out[ours] = {k: v.reshape(*v.shape[:-1], HEADS, size) for k, v in dense(w, f"{name}.{theirs}").items()}
    o = dense(w, f"{name}.out_proj")
    out["out"] = {"kernel": o["kernel"].reshape(HEADS, size, WIDTH), "bias": o["bias"]}
    return out


def block(w, name, crossed):
    out = {
        "attn_ln": norm(w, f"{name}.self_attn_layer_norm"),
        "attn": attention(w, f"{name}.self_attn"),
        "mlp_ln": norm(w, f"{name}.final_layer_norm"),
        "mlp_1": dense(w, f"{name}.fc1"),
        "mlp_2": dense(w, f"{name}.fc2"),
    }
    if crossed:
        out["cross_attn_ln"] = norm(w, f"{name}.encoder_attn_layer_norm")
        out["cross_attn"] = attention(w, f"{name}.encoder_attn")
    return out


def convert(w):
    e, d = "model.encoder", "model.decoder"
    params = {
        "encoder_positions": w[f"{e}.embed_positions.weight"],
        "encoder_ln": norm(w, f"{e}.layer_norm"),
        "token_embedding": {"embedding": w[f"{d}.embed_tokens.weight"]},
        "decoder_positions": w[f"{d}.embed_positions.weight"],
        "decoder_ln": norm(w, f"{d}.layer_norm"),
    }
    for n in ("conv1", "conv2"):
        params[n] = {"kernel": w[f"{e}.{n}.weight"].transpose(2, 1, 0), "bias": w[f"{e}.{n}.bias"]}
    for i in range(2):
        params[f"encoder_{i}"] = block(w, f"{e}.layers.{i}", False)
        params[f"decoder_{i}"] = block(w, f"{d}.layers.{i}", True)
    return {"params": params}


def build():
    w = {k: v.numpy() for k, v in whisper_hf.build().state_dict().items()}
    return Whisper(), jax.tree.map(jnp.asarray, convert(w))
