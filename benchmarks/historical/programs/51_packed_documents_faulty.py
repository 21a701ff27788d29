"""A language model that trains on packed sequences."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x, position_ids, mask):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        d = q.shape[-1]
        angle = (position_ids[..., None] * 10000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d))[:, None]
        cos, sin = angle.cos(), angle.sin()
        turn = lambda t: torch.cat((t[..., : d // 2] * cos - t[..., d // 2 :] * sin, t[..., d // 2 :] * cos + t[..., : d // 2] * sin), -1)
        y = F.scaled_dot_product_attention(turn(q), turn(k), v, attn_mask=mask)
        return self.out_proj(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn, self.norm1, self.norm2 = Attention(dim, heads), nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
        self.gate_proj, self.up_proj = nn.Linear(dim, 48, bias=False), nn.Linear(dim, 48, bias=False)
        self.down_proj = nn.Linear(48, dim, bias=False)

    def forward(self, x, position_ids, mask):
        x = x + self.attn(self.norm1(x), position_ids, mask)
        y = self.norm2(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class LanguageModel(nn.Module):
    def __init__(self, vocab=64, dim=32, heads=4, layers=2):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(dim, eps=1e-5), nn.Linear(dim, vocab, bias=False)

    def forward(self, input_ids, document_ids=None):
        b, n = input_ids.shape
        mask = torch.ones(n, n, dtype=torch.bool).tril()[None, None]
        position_ids = torch.arange(n).expand(b, n)
        if document_ids is not None:
            same = document_ids[:, :, None] == document_ids[:, None]
            position_ids = (same & mask[0]).sum(-1) - 1
        x = self.token_embedding(input_ids)
        for block in self.blocks:
            x = block(x, position_ids, mask)
        return self.head(self.norm(x))


def build():
    torch.manual_seed(0)
    return LanguageModel().eval()


def inputs():
    ids = torch.randint(0, 64, (2, 12), generator=torch.Generator().manual_seed(1))
    return ids, torch.tensor([[0] * 5 + [1] * 7, [0] * 8 + [1] * 4])
