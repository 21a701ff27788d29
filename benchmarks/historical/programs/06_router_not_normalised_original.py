"""A mixture of experts in small: sigmoid scores, a bias for the choice alone, weights of sum one, then a factor."""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, EXPERTS, CHOSEN, HIDDEN, FACTOR = 32, 4, 6, 2, 24, 2.5


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv_proj = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv_proj(x).chunk(3, -1))
        return self.o_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class SparseBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.e_score_correction_bias = nn.Parameter(0.1 * torch.randn(EXPERTS))
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))
        self.shared = Expert()

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        scores = torch.sigmoid(self.gate(flat))
        chosen = torch.topk(scores + self.e_score_correction_bias, CHOSEN, dim=-1).indices
        weights = scores.gather(1, chosen)
        weights = weights / weights.sum(-1, keepdim=True) * FACTOR
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            row, slot = torch.where(chosen == i)
            out = out.index_add(0, row, expert(flat[row]) * weights[row, slot, None])
        return out.view_as(x) + self.shared(x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH, eps=1e-6), nn.RMSNorm(WIDTH, eps=1e-6)
        self.attn, self.moe = Attention(), SparseBlock()

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.moe(self.norm2(x))


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.positions = nn.Embedding(60, WIDTH), nn.Embedding(64, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.norm, self.head = nn.RMSNorm(WIDTH, eps=1e-6), nn.Linear(WIDTH, 60, bias=False)

    def forward(self, ids):
        x = self.embed(ids) + self.positions(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def build():
    torch.manual_seed(1)
    model = MoE()
    for name, weight in model.named_parameters():
        if "norm" in name:
            nn.init.normal_(weight, 1.0, 0.2)
        elif weight.dim() > 1:
            nn.init.normal_(weight, 0.0, 0.25)
    return model.eval()
