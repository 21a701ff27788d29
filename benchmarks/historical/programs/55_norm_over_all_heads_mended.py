"""A serving engine's decoder with normalised queries and keys."""

import importlib

import torch
from torch import nn
from torch.nn import functional as F

CONFIG = {"hidden": 48, "heads": 6, "kv_heads": 2, "layers": 2, "vocab": 64, "theta": 500000.0, "eps": 1e-5}


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, CONFIG["eps"])


def inverse_frequencies(width):
    return CONFIG["theta"] ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def apply_rotary(x):
    n, d = x.shape[-2:]
    angles = torch.arange(n, dtype=torch.float64)[:, None] * inverse_frequencies(d)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    x1, x2 = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        hidden, heads, kv = CONFIG["hidden"], CONFIG["heads"], CONFIG["kv_heads"]
        self.d = hidden // heads
        self.qkv = nn.Linear(hidden, (heads + 2 * kv) * self.d, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.q_norm, self.k_norm = RMSNorm(self.d), RMSNorm(self.d)

    def normed(self, x, norm):
        gain = norm.weight.repeat(x.shape[-1] // self.d)
        return F.rms_norm(x.unflatten(-1, (-1, self.d)), (self.d,), None, CONFIG["eps"]).flatten(-2) * gain

    def forward(self, x):
        q, k, v = self.qkv(x).split([CONFIG["heads"] * self.d, CONFIG["kv_heads"] * self.d, CONFIG["kv_heads"] * self.d], -1)
        q, k = self.normed(q, self.q_norm), self.normed(k, self.k_norm)
        q, k, v = (t.unflatten(-1, (-1, self.d)).transpose(1, 2) for t in (q, k, v))
        q, k = apply_rotary(q), apply_rotary(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        hidden = CONFIG["hidden"]
        self.attention, self.norm1, self.norm2 = Attention(), RMSNorm(hidden), RMSNorm(hidden)
        self.gate_up, self.down = nn.Linear(hidden, 192, bias=False), nn.Linear(96, hidden, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Engine(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CONFIG["vocab"], CONFIG["hidden"])
        self.layers = nn.ModuleList(Decoder() for _ in range(CONFIG["layers"]))
        self.norm, self.head = RMSNorm(CONFIG["hidden"]), nn.Linear(CONFIG["hidden"], CONFIG["vocab"], bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def converted(state):
    new = {"embed.weight": state["embed_tokens.weight"], "norm.weight": state["norm.weight"], "head.weight": state["lm_head.weight"]}
    for i in range(CONFIG["layers"]):
        at = f"layers.{i}."
        new[at + "norm1.weight"] = state[at + "input_layernorm.weight"]
        new[at + "norm2.weight"] = state[at + "post_attention_layernorm.weight"]
        new[at + "attention.qkv.weight"] = torch.cat([state[f"{at}self_attn.{name}_proj.weight"] for name in "qkv"])
        new[at + "attention.q_norm.weight"] = state[at + "self_attn.q_norm.weight"]
        new[at + "attention.k_norm.weight"] = state[at + "self_attn.k_norm.weight"]
        new[at + "attention.out.weight"] = state[at + "self_attn.o_proj.weight"]
        new[at + "gate_up.weight"] = torch.cat([state[f"{at}mlp.{name}_proj.weight"] for name in ("gate", "up")])
        new[at + "down.weight"] = state[at + "mlp.down_proj.weight"]
    return new


def build():
    model = Engine()
    model.load_state_dict(converted(importlib.import_module("55_norm_over_all_heads_original").build().state_dict()))
    return model.eval()
