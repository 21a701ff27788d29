# GPT-J in small: one norm for both branches of a block, rotary positions by interleaved pairs.
import torch
from einops import rearrange, repeat
from torch import einsum, nn


def fixed_pos_embedding(seq_len, dim):
    inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2) / dim))
    sinusoid_inp = torch.einsum("i , j -> i j", torch.arange(seq_len), inv_freq)
    return torch.sin(sinusoid_inp), torch.cos(sinusoid_inp)


def rotate_every_two(x):
    x1 = x[:, :, :, ::2]
    x2 = x[:, :, :, 1::2]
    x = torch.stack((-x2, x1), dim=-1)
    return rearrange(x, "... d j -> ... (d j)")


def apply_rotary_pos_emb(x, sincos):
    sin, cos = (repeat(t.to(x.dtype), "n d -> n () (d j)", j=2) for t in sincos)
    return (x * cos) + (rotate_every_two(x) * sin)


class Attn(nn.Module):
    def __init__(self, dim, heads, rotary_dim, idx):
        super().__init__()
        self.idx = idx
        self.heads = heads
        self.rotary_dim = rotary_dim
        self.scale = (dim // heads) ** -0.5
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, 2 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        n = x.shape[1]
        q = self.to_q(x)
        k, v = self.to_kv(x).chunk(2, dim=-1)
        q, k, v = (rearrange(t, "b n (h d) -> b n h d", h=self.heads) for t in (q, k, v))
        sincos = fixed_pos_embedding(n, self.rotary_dim)
        r = self.rotary_dim
        q = torch.cat((apply_rotary_pos_emb(q[..., :r], sincos), q[..., r:]), dim=-1)
        k = torch.cat((apply_rotary_pos_emb(k[..., :r], sincos), k[..., r:]), dim=-1)
        sim = einsum("b i h d, b j h d -> b h i j", q, k) * self.scale
        causal = torch.ones((n, n), dtype=torch.bool, device=x.device).triu(1)
        sim = sim.masked_fill(causal, -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        out = einsum("b h i j, b j h d -> b i h d", attn, v)
        return self.to_out(rearrange(out, "b n h d -> b n (h d)"))


class FF(nn.Module):
    def __init__(self, dim, mult, idx):
        super().__init__()
        self.idx = idx
        self.fc_in = nn.Linear(dim, dim * mult)
        self.fc_out = nn.Linear(dim * mult, dim)

    def forward(self, x):
        return self.fc_out(nn.functional.gelu(self.fc_in(x), approximate="tanh"))


class ParallelBlock(nn.Module):
    def __init__(self, dim, heads, rotary_dim, idx):
        super().__init__()
        self.idx = idx
        self.ln_1 = nn.LayerNorm(dim)
        self.attn = Attn(dim, heads, rotary_dim, idx)
        self.mlp = FF(dim, 3, idx)

    def forward(self, x):
        h = self.ln_1(x)
        return self.attn(h) + self.mlp(h) + x


class GPTJ(nn.Module):
    def __init__(self, vocab=62, dim=40, depth=3, heads=2, rotary_dim=12):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.h = nn.ModuleList([ParallelBlock(dim, heads, rotary_dim, i) for i in range(depth)])
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.wte(ids)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def build():
    torch.manual_seed(6)
    return GPTJ()
