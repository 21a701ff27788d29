# A prefix language model: the prefix is seen from everywhere, the rest is causal; sandwich norms; T5-like gains.
import torch
import torch.nn.functional as F
from torch import nn

PREFIX = 4


class Gain(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (y * (1.0 + self.scale.float())).type_as(x)


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.pre_a, self.post_a, self.pre_f, self.post_f = Gain(d), Gain(d), Gain(d), Gain(d)
        self.q, self.kv, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, 2 * d // h, bias=False), nn.Linear(d, d)
        self.gate_up, self.down = nn.Linear(d, 6 * d, bias=False), nn.Linear(3 * d, d, bias=False)

    def attend(self, x, seen):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.h, -1).transpose(1, 2)
        k, v = (t.unsqueeze(1).expand(-1, self.h, -1, -1) for t in self.kv(x).chunk(2, -1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.o(y.transpose(1, 2).reshape(b, n, d))

    def forward(self, x, seen):
        x = x + self.post_a(self.attend(self.pre_a(x), seen))
        gate, up = self.gate_up(self.pre_f(x)).chunk(2, dim=-1)
        return x + self.post_f(self.down(F.gelu(gate, approximate="tanh") * up))


class PrefixLM(nn.Module):
    def __init__(self, vocab=71, d=36, h=3, depth=3):
        super().__init__()
        self.d = d
        self.embedder, self.positions = nn.Embedding(vocab, d), nn.Embedding(32, d)
        self.layers, self.norm = nn.ModuleList(Layer(d, h) for _ in range(depth)), Gain(d)

    def forward(self, ids):
        n = ids.shape[1]
        i = torch.arange(n)
        seen = (i[None, :] <= i[:, None]) | (i[None, :] < PREFIX)
        x = self.embedder(ids) * self.d**0.5 + self.positions(i)
        for layer in self.layers:
            x = layer(x, seen)
        return F.linear(self.norm(x), self.embedder.weight)


def build():
    torch.manual_seed(18)
    return PrefixLM()
