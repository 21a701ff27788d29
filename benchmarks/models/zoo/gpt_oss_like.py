"""Learned sinks: each head has one logit more in its softmax, which takes weight and gives no value."""

import math

import torch


class RMSNorm(torch.nn.Module):
    def __init__(self, num_features, eps=1e-05):
        super().__init__()
        self.eps = eps
        self.scale = torch.nn.Parameter(torch.ones(num_features))

    def forward(self, x):
        t = x * torch.rsqrt(torch.mean(x**2, dim=-1, keepdim=True) + self.eps)
        return t * self.scale


class RotaryEmbedding(torch.nn.Module):
    def __init__(self, head_dim, base):
        super().__init__()
        self.head_dim = head_dim
        self.base = base

    def forward(self, x):
        # x: (batch, tokens, ..., head_dim)
        n = x.shape[1]
        freq = self.base ** (torch.arange(0, self.head_dim, 2, dtype=x.dtype) / self.head_dim)
        t = torch.arange(n, dtype=x.dtype)
        freqs = torch.einsum("i,j->ij", t, 1.0 / freq)
        shape = (1, n) + (1,) * (x.ndim - 3) + (self.head_dim // 2,)
        cos, sin = freqs.cos().view(shape), freqs.sin().view(shape)
        x1, x2 = torch.chunk(x, 2, dim=-1)
        o1 = x1 * cos - x2 * sin
        o2 = x2 * cos + x1 * sin
        return torch.cat((o1, o2), dim=-1)


def sdpa(Q, K, V, S, sm_scale, sliding_window=0):
    # Q: (batch, n_tokens, n_kv, q_mult, d); K, V: (batch, n_tokens, n_kv, d); S: one sink for each query head
    batch, n_tokens, n_heads, q_mult, d_head = Q.shape
    K = K[:, :, :, None, :].expand(-1, -1, -1, q_mult, -1)
    V = V[:, :, :, None, :].expand(-1, -1, -1, q_mult, -1)
    S = S.reshape(1, n_heads, q_mult, 1, 1).expand(batch, -1, -1, n_tokens, -1)
    mask = torch.triu(Q.new_full((n_tokens, n_tokens), -float("inf")), diagonal=1)
    if sliding_window > 0:
        mask = mask + torch.tril(mask.new_full((n_tokens, n_tokens), -float("inf")), diagonal=-sliding_window)
    QK = torch.einsum("bqhmd,bkhmd->bhmqk", Q, K)
    QK = QK * sm_scale
    QK = QK + mask[None, None, None, :, :]
    QK = torch.cat([QK, S], dim=-1)
    W = torch.softmax(QK, dim=-1)
    W = W[..., :-1]
    attn = torch.einsum("bhmqk,bkhmd->bqhmd", W, V)
    return attn.reshape(batch, n_tokens, -1)


class AttentionBlock(torch.nn.Module):
    def __init__(self, width, heads, kv_heads, head_dim, layer_idx, window):
        super().__init__()
        self.layer_idx = layer_idx
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, head_dim
        # Only apply sliding window to every other layer
        self.sliding_window = window if layer_idx % 2 == 0 else 0
        self.sinks = torch.nn.Parameter(torch.zeros(heads))
        self.norm = RMSNorm(width)
        self.qkv = torch.nn.Linear(width, head_dim * (heads + 2 * kv_heads))
        self.out = torch.nn.Linear(head_dim * heads, width)
        self.sm_scale = 1 / math.sqrt(head_dim)
        self.rope = RotaryEmbedding(head_dim, base=150000)

    def forward(self, x):
        t = self.norm(x)
        qkv = self.qkv(t)
        batch, n = x.shape[:2]
        q = qkv[..., : self.heads * self.head_dim]
        k = qkv[..., self.heads * self.head_dim : (self.heads + self.kv_heads) * self.head_dim]
        v = qkv[..., (self.heads + self.kv_heads) * self.head_dim :]
        q = q.reshape(batch, n, self.kv_heads, self.heads // self.kv_heads, self.head_dim)
        k = k.reshape(batch, n, self.kv_heads, self.head_dim)
        v = v.reshape(batch, n, self.kv_heads, self.head_dim)
        q, k = self.rope(q), self.rope(k)
        t = sdpa(q, k, v, self.sinks, self.sm_scale, self.sliding_window)
        t = self.out(t)
        return x + t


def swiglu(x, alpha=1.702, limit=2.5):
    x_glu, x_linear = x[..., ::2], x[..., 1::2]
    x_glu = x_glu.clamp(min=None, max=limit)
    x_linear = x_linear.clamp(min=-limit, max=limit)
    out_glu = x_glu * torch.sigmoid(alpha * x_glu)
    return out_glu * (x_linear + 1)


class MLPBlock(torch.nn.Module):
    def __init__(self, width, inner, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.norm = RMSNorm(width)
        self.mlp1 = torch.nn.Linear(width, inner * 2)
        self.mlp2 = torch.nn.Linear(inner, width)

    def forward(self, x):
        return x + self.mlp2(swiglu(self.mlp1(self.norm(x))))


class TransformerBlock(torch.nn.Module):
    def __init__(self, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.attn = AttentionBlock(46, 4, 2, 12, layer_idx, window=6)
        self.mlp = MLPBlock(46, 53, layer_idx)

    def forward(self, x):
        return self.mlp(self.attn(x))


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(87, 46)
        self.block = torch.nn.ModuleList([TransformerBlock(i) for i in range(3)])
        self.norm = RMSNorm(46)
        self.unembedding = torch.nn.Linear(46, 87, bias=False)

    def forward(self, x):
        x = self.embedding(x)
        for block in self.block:
            x = block(x)
        return self.unembedding(self.norm(x))


def build():
    torch.manual_seed(120)
    return Transformer()
