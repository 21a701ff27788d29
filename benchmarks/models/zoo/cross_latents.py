# Perceiver-like: learned latents read the tokens once by attention across, then attend among themselves.
import torch
import torch.nn.functional as F
from torch import nn


class Attend(nn.Module):
    def __init__(self, dim, heads, dim_head=8, context=None):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.norm_context = nn.LayerNorm(context) if context else None
        self.to_q = nn.Linear(dim, heads * dim_head, bias=False)
        self.to_kv = nn.Linear(context or dim, 2 * heads * dim_head, bias=False)
        self.to_out = nn.Linear(heads * dim_head, dim)

    def forward(self, x, context=None):
        x = self.norm(x)
        memory = x if context is None else self.norm_context(context)
        k, v = self.to_kv(memory).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (self.to_q(x), k, v))
        out = F.scaled_dot_product_attention(q, k, v)
        return self.to_out(out.transpose(1, 2).flatten(2))


class GEGLU(nn.Module):
    def forward(self, x):
        x, gates = x.chunk(2, dim=-1)
        return x * F.gelu(gates)


def feed_forward(dim):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 6 * dim), GEGLU(), nn.Linear(3 * dim, dim))


class Perceiver(nn.Module):
    def __init__(self, vocab=66, token_dim=24, dim=40, latents=7, depth=3, classes=5):
        super().__init__()
        self.token_emb, self.pos_emb = nn.Embedding(vocab, token_dim), nn.Embedding(40, token_dim)
        self.latents = nn.Parameter(torch.randn(latents, dim))
        self.cross, self.cross_ff = Attend(dim, 2, context=token_dim), feed_forward(dim)
        self.layers = nn.ModuleList(nn.ModuleList([Attend(dim, 4), feed_forward(dim)]) for _ in range(depth))
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, classes))

    def forward(self, ids):
        data = self.token_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))
        x = self.latents.unsqueeze(0).expand(len(ids), -1, -1)
        x = self.cross(x, data) + x
        x = self.cross_ff(x) + x
        for attend, ff in self.layers:
            x = attend(x) + x
            x = ff(x) + x
        return self.to_logits(x.mean(dim=1))


def build():
    torch.manual_seed(14)
    return Perceiver()
