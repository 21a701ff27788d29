"""A layer-by-layer runner: the weights of each layer are taken when it is run."""

import importlib

import numpy as np
import torch
from torch import nn

CONFIG = {"num_attention_heads": 6, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "rope_theta": 500000.0}


class ModelArgs:
    """What the layers need to know."""

    def __init__(self, n_heads, n_kv_heads, norm_eps, rope_theta=10000.0):
        self.n_heads, self.n_kv_heads, self.norm_eps, self.rope_theta = n_heads, n_kv_heads, norm_eps, rope_theta


def get_model_args_from_config(config):
    return ModelArgs(
        n_heads=config["num_attention_heads"],
        n_kv_heads=config["num_key_value_heads"],
        norm_eps=config["rms_norm_eps"],
        rope_theta=config["rope_theta"],
    )


def norm(x, weight, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def rope(x, theta):
    n, d = x.shape[-2:]
    inv = 1.0 / theta ** (np.arange(0, d, 2) / d)
    angle = torch.tensor(np.arange(n)[:, None] * inv[None], dtype=x.dtype)
    x1, x2 = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat((x1 * angle.cos() - x2 * angle.sin(), x2 * angle.cos() + x1 * angle.sin()), -1)


class Runner(nn.Module):
    def __init__(self, state, args):
        super().__init__()
        self.weights = nn.ParameterDict({name.replace(".", "_"): tensor.clone() for name, tensor in state.items()})
        self.layers = sum(name.endswith("q_proj.weight") for name in state)
        self.args = args

    def attention(self, x, at):
        w, a = self.weights, self.args
        split = lambda y, heads: y.unflatten(-1, (heads, -1)).transpose(1, 2)
        q = split(x @ w[at + "q_proj_weight"].T, a.n_heads)
        k = split(x @ w[at + "k_proj_weight"].T, a.n_kv_heads)
        v = split(x @ w[at + "v_proj_weight"].T, a.n_kv_heads)
        q, k = rope(q, a.rope_theta), rope(k, a.rope_theta)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return y.transpose(1, 2).flatten(2) @ w[at + "o_proj_weight"].T

    def forward(self, tokens):
        w, eps = self.weights, self.args.norm_eps
        x = w["embed_tokens_weight"][tokens]
        for i in range(self.layers):
            at = f"layers_{i}_"
            x = x + self.attention(norm(x, w[at + "input_layernorm_weight"], eps), at + "self_attn_")
            y = norm(x, w[at + "post_attention_layernorm_weight"], eps)
            gate, up = y @ w[at + "mlp_gate_proj_weight"].T, y @ w[at + "mlp_up_proj_weight"].T
            x = x + (torch.sigmoid(gate) * gate * up) @ w[at + "mlp_down_proj_weight"].T
        return norm(x, w["norm_weight"], eps) @ w["lm_head_weight"].T


def build():
    original = importlib.import_module("05_rope_theta_dropped_original").build()
    return Runner(original.state_dict(), get_model_args_from_config(CONFIG)).eval()
