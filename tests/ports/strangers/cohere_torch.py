"""Cohere in torch as functions over a dictionary of tensors, with torch's own attention."""

import cohere_hf
import torch
import torch.nn.functional as F
from torch import nn


def norm(x, gain):
    return F.layer_norm(x, (x.shape[-1],), gain, None, 1e-5)


def turn(x, base=500000.0):
    b, h, t, d = x.shape
    frequency = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.arange(t, dtype=torch.float64)[:, None] * frequency
    z = torch.view_as_complex(x.double().reshape(b, h, t, d // 2, 2).contiguous())
    z = z * torch.exp(1j * angle)
    return torch.view_as_real(z).flatten(-2).to(x.dtype)


def heads(x, count):
    return x.unflatten(-1, (count, 8)).transpose(1, 2)


class Command(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.w = nn.ParameterDict({name: nn.Parameter(value) for name, value in weights.items()})

    def attention(self, i, x):
        q = turn(heads(x @ self.w[f"wq{i}"], 4))
        k = turn(heads(x @ self.w[f"wk{i}"], 2))
        v = heads(x @ self.w[f"wv{i}"], 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return y.transpose(1, 2).flatten(2) @ self.w[f"wo{i}"]

    def network(self, i, x):
        gate, up = (x @ self.w[f"w_in{i}"]).chunk(2, dim=-1)
        return (F.silu(gate) * up) @ self.w[f"w_out{i}"]

    def forward(self, tokens):
        x = self.w["table"][tokens]
        for i in range(2):
            y = norm(x, self.w[f"norm{i}"])
            x = x + self.attention(i, y) + self.network(i, y)
        x = norm(x, self.w["norm"])
        return x @ self.w["table"].T * 0.25


def convert(hf):
    new = {"table": hf["model.embed_tokens.weight"], "norm": hf["model.norm.weight"]}
    for i in range(2):
        at = f"model.layers.{i}."
        for name in "qkvo":
            new[f"w{name}{i}"] = hf[f"{at}self_attn.{name}_proj.weight"].T.contiguous()
        gate, up = hf[f"{at}mlp.gate_proj.weight"], hf[f"{at}mlp.up_proj.weight"]
        new[f"w_in{i}"] = torch.cat([gate, up]).T.contiguous()
        new[f"w_out{i}"] = hf[f"{at}mlp.down_proj.weight"].T.contiguous()
        new[f"norm{i}"] = hf[f"{at}input_layernorm.weight"]
    return new


def build():
    return Command(convert(cohere_hf.build().state_dict())).eval()
