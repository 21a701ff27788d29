# A mixture of experts that computes all experts and weighs them, the best two of four for each token.
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight


class Experts(nn.Module):
    def __init__(self, dim, hidden, experts, top):
        super().__init__()
        self.top = top
        self.router = nn.Linear(dim, experts, bias=False)
        self.w_in = nn.Parameter(torch.randn(experts, dim, hidden) * 0.1)
        self.w_out = nn.Parameter(torch.randn(experts, hidden, dim) * 0.1)

    def forward(self, x):
        probs = self.router(x).softmax(-1)
        best, which = probs.topk(self.top, dim=-1)
        gates = torch.zeros_like(probs).scatter(-1, which, best / best.sum(-1, keepdim=True))
        hidden = F.silu(torch.einsum("bnd,edh->bneh", x, self.w_in))
        return torch.einsum("bneh,ehd,bne->bnd", hidden, self.w_out, gates)


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = RMSNorm(dim), RMSNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.moe = Experts(dim, 2 * dim, 4, 2)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, n, 3, self.heads, -1).transpose(1, 3).unbind(2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.moe(self.n2(x))


class MoELM(nn.Module):
    def __init__(self, vocab=56, dim=32, heads=4, depth=3):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocab, dim), nn.Embedding(32, dim)
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(depth))
        self.norm, self.unembed = RMSNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.embedding(ids) + self.positions(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.unembed(self.norm(x))


def build():
    torch.manual_seed(11)
    return MoELM()
