# Mixtral-like: the tokens of each expert are gathered and added back; grouped queries; sliding window.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Expert(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.w1, self.w3, self.w2 = nn.Linear(d, f, bias=False), nn.Linear(d, f, bias=False), nn.Linear(f, d, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SparseMoe(nn.Module):
    def __init__(self, d, f, experts=4, k=2):
        super().__init__()
        self.gate, self.k = nn.Linear(d, experts, bias=False), k
        self.experts = nn.ModuleList(Expert(d, f) for _ in range(experts))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = torch.topk(self.gate(flat), self.k)
        weights = F.softmax(weights, dim=1, dtype=torch.float).to(x.dtype)
        result = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows, nth = torch.where(chosen == i)
            result[rows] += weights[rows, nth, None] * expert(flat[rows])
        return result.view_as(x)


class Attention(nn.Module):
    def __init__(self, d, heads, kv, window):
        super().__init__()
        self.h, self.kv, self.dh, self.window = heads, kv, d // heads, window
        self.wq, self.wk = nn.Linear(d, heads * self.dh, bias=False), nn.Linear(d, kv * self.dh, bias=False)
        self.wv, self.wo = nn.Linear(d, kv * self.dh, bias=False), nn.Linear(heads * self.dh, d, bias=False)

    def forward(self, x, cos, sin):
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, self.h, self.dh)
        k, v = self.wk(x).view(b, n, self.kv, self.dh), self.wv(x).view(b, n, self.kv, self.dh)

        def turn(t):
            a, c = t.chunk(2, -1)
            return torch.cat((a * cos - c * sin, c * cos + a * sin), -1)

        q, k = turn(q), turn(k)
        k, v = k.repeat_interleave(self.h // self.kv, 2), v.repeat_interleave(self.h // self.kv, 2)
        i, j = torch.arange(n)[:, None], torch.arange(n)[None]
        seen = (j <= i) & (i - j < self.window)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=seen)
        return self.wo(y.transpose(1, 2).reshape(b, n, -1))


class MiniMixtral(nn.Module):
    def __init__(self, vocab=64, d=40, heads=4, kv=2, f=48, depth=3):
        super().__init__()
        self.dh = d // heads
        self.tok_embeddings = nn.Embedding(vocab, d)
        self.attn = nn.ModuleList(Attention(d, heads, kv, 6) for _ in range(depth))
        self.moe = nn.ModuleList(SparseMoe(d, f) for _ in range(depth))
        self.norms = nn.ModuleList(Norm(d) for _ in range(2 * depth))
        self.norm, self.output = Norm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        angles = torch.outer(torch.arange(ids.shape[1]), 1e6 ** (-torch.arange(0, self.dh, 2) / self.dh))[:, None]
        cos, sin = angles.cos(), angles.sin()
        x = self.tok_embeddings(ids)
        for i, (a, m) in enumerate(zip(self.attn, self.moe)):
            x = x + a(self.norms[2 * i](x), cos, sin)
            x = x + m(self.norms[2 * i + 1](x))
        return self.output(self.norm(x))


def build():
    torch.manual_seed(12)
    return MiniMixtral()
