# q/k norms over the full width (OLMo 2), norms of the outputs only, alternating windows, NoPE in every fourth layer.
import torch
import torch.nn.functional as F
from torch import nn


class Attn(nn.Module):
    def __init__(self, d, h, window, rope):
        super().__init__()
        self.h, self.window, self.rope = h, window, rope
        self.wqkv, self.wo = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.q_norm, self.k_norm = nn.RMSNorm(d, eps=1e-6), nn.RMSNorm(d, eps=1e-6)

    def turn(self, x):
        n, d = x.shape[-2:]
        angle = torch.outer(torch.arange(n), 5e5 ** (-torch.arange(0, d, 2) / d)).repeat_interleave(2, -1)
        other = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        return x * angle.cos() + other * angle.sin()

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.wqkv(x).chunk(3, -1)
        q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (t.view(b, n, self.h, d // self.h).transpose(1, 2) for t in (q, k, v))
        if self.rope:
            q, k = self.turn(q), self.turn(k)
        i = torch.arange(n)
        seen = i[None] <= i[:, None]
        if self.window:
            seen = seen & (i[:, None] - i[None] < self.window)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.wo(y.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, d, h, window, rope):
        super().__init__()
        self.attn, self.an, self.fn = Attn(d, h, window, rope), nn.RMSNorm(d, eps=1e-6), nn.RMSNorm(d, eps=1e-6)
        self.gate, self.up, self.down = (nn.Linear(*s, bias=False) for s in ((d, 72), (d, 72), (72, d)))

    def forward(self, x):
        x = x + self.an(self.attn(x))
        return x + self.fn(self.down(F.silu(self.gate(x)) * self.up(x)))


class Olmo(nn.Module):
    def __init__(self, vocab=59, d=40, h=4, depth=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        kinds = [(0, False) if i % 4 == 3 else (4, True) for i in range(depth)]
        self.blocks = nn.Sequential(*(Block(d, h, *kind) for kind in kinds))
        self.ln, self.head = nn.RMSNorm(d, eps=1e-6), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        return self.head(self.ln(self.blocks(self.wte(ids))))


def build():
    torch.manual_seed(22)
    return Olmo()
