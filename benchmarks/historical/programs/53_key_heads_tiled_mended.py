"""A server that splits attention among four workers, and repeats key heads where there are fewer."""

import importlib

import torch
from torch import nn
from torch.nn import functional as F

WORKERS, HEADS, KV_HEADS, WIDTH = 4, 4, 2, 8


def repeat_heads(weight, times):
    """Key or value weights of (heads * width, inputs), for `times` as many heads."""
    heads = weight.view(KV_HEADS, WIDTH, -1)
    return heads.repeat_interleave(times, dim=0).flatten(0, 1)


class Shards(nn.Module):
    """Self-attention; worker w holds one query head and the key head that belongs to it."""

    def __init__(self, state, at):
        super().__init__()
        times = WORKERS // KV_HEADS
        q = state[at + "q_proj.weight"]
        k, v = (repeat_heads(state[at + name], times) for name in ("k_proj.weight", "v_proj.weight"))
        self.q, self.k, self.v = (nn.Parameter(w.reshape(WORKERS, WIDTH, -1).clone()) for w in (q, k, v))
        self.o = nn.Parameter(state[at + "o_proj.weight"].clone())

    def forward(self, x):
        n = x.shape[1]
        angle = torch.arange(n, dtype=x.dtype)[:, None] * 500000.0 ** (-torch.arange(0, WIDTH, 2, dtype=x.dtype) / WIDTH)
        cos, sin = angle.cos(), angle.sin()

        def rotated(t):
            a, b = t.chunk(2, -1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

        q, k, v = (torch.einsum("ble,wde->bwld", x, weight) for weight in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        return y.transpose(1, 2).flatten(2) @ self.o.T


class Server(nn.Module):
    def __init__(self, state):
        super().__init__()
        self.attention = nn.ModuleList(Shards(state, f"layers.{i}.self_attn.") for i in range(2))
        self.rest = nn.ParameterDict({k.replace(".", "_"): v.clone() for k, v in state.items() if "self_attn" not in k})

    def norm(self, x, name):
        return nn.functional.rms_norm(x, x.shape[-1:], self.rest[name], 1e-5)

    def forward(self, tokens):
        r = self.rest
        x = F.embedding(tokens, r["embed_tokens_weight"])
        for i, attention in enumerate(self.attention):
            x = x + attention(self.norm(x, f"layers_{i}_input_layernorm_weight"))
            y = self.norm(x, f"layers_{i}_post_attention_layernorm_weight")
            gate, up, down = (r[f"layers_{i}_mlp_{name}_proj_weight"] for name in ("gate", "up", "down"))
            x = x + (F.silu(y @ gate.T) * (y @ up.T)) @ down.T
        return self.norm(x, "norm_weight") @ r["lm_head_weight"].T


def build():
    return Server(importlib.import_module("53_key_heads_tiled_original").build().state_dict()).eval()
