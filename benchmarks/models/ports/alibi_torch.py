"""The decoder with ALiBi in PyTorch: a fused projection, slopes as a buffer."""

import math

import alibi_jax
import numpy as np
import torch
from torch import nn


def alibi_slopes(n):
    """Geometric slopes; those between for a number of heads that is no power of two."""

    def power_of_two(m):
        start = 2 ** (-(2 ** -(math.log2(m) - 3)))
        return [start * start**i for i in range(m)]

    if math.log2(n).is_integer():
        return power_of_two(n)
    closest = 2 ** math.floor(math.log2(n))
    return power_of_two(closest) + power_of_two(2 * closest)[0::2][: n - closest]


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.Wqkv = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)
        self.register_buffer("slopes", torch.tensor(alibi_slopes(heads)).view(heads, 1, 1))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.Wqkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q.matmul(k.mT) / math.sqrt(d // self.heads)
        places = torch.arange(n)
        scores = scores + self.slopes * (places[None, :] - places[:, None]).clamp(max=0)
        scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), torch.finfo(scores.dtype).min)
        mixed = scores.softmax(-1).matmul(v)
        return self.out_proj(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.norm_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm_2 = nn.LayerNorm(width)
        self.up_proj = nn.Linear(width, hidden)
        self.act = nn.GELU(approximate="tanh")
        self.down_proj = nn.Linear(hidden, width)

    def forward(self, x):
        x = x + self.attn(self.norm_1(x))
        return x + self.down_proj(self.act(self.up_proj(self.norm_2(x))))


class Decoder(nn.Module):
    def __init__(self, vocab=77, width=48, heads=6, hidden=80, layers=2):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.emb_norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList([Block(width, heads, hidden) for _ in range(layers)])
        self.norm_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.emb_norm(self.wte(tokens))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.norm_f(x))


def norm(state, name, p):
    state[f"{name}.weight"], state[f"{name}.bias"] = p["scale"], p["shift"]


def convert(params):
    state = {"wte.weight": params["table"], "lm_head.weight": params["table"]}
    norm(state, "emb_norm", params["embedding_norm"])
    norm(state, "norm_f", params["last"])
    for i, p in enumerate(params["layers"]):
        at, a = f"blocks.{i}", p["attention"]
        width = a["q"].shape[0]
        state[f"{at}.attn.Wqkv.weight"] = np.concatenate([a[n].reshape(width, width).T for n in "qkv"])
        state[f"{at}.attn.Wqkv.bias"] = np.concatenate([a[f"b{n}"].reshape(width) for n in "qkv"])
        state[f"{at}.attn.out_proj.weight"] = a["o"].reshape(width, width).T
        state[f"{at}.attn.out_proj.bias"] = a["bo"]
        norm(state, f"{at}.norm_1", p["norm1"])
        norm(state, f"{at}.norm_2", p["norm2"])
        state[f"{at}.up_proj.weight"], state[f"{at}.up_proj.bias"] = p["up"].T, p["bup"]
        state[f"{at}.down_proj.weight"], state[f"{at}.down_proj.bias"] = p["down"].T, p["bdown"]
    return {name: torch.tensor(np.asarray(value)) for name, value in state.items()}


def build():
    model = Decoder().eval()
    model.load_state_dict(convert(alibi_jax.parameters()), strict=False)
    return model


inputs = alibi_jax.inputs
