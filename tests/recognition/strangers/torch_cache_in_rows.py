"""Attention whose cache is a buffer with a row for each sample of a batch, as in early inference code."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim=32, n_heads=4, max_batch_size=4, max_seq_len=24):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        for name in ("cache_k", "cache_v"):
            self.register_buffer(name, torch.zeros(max_batch_size, max_seq_len, n_heads, self.head_dim))

    def forward(self, x, start_pos=0):
        batch, length, _ = x.shape
        q, k, v = (proj(x).view(batch, length, self.n_heads, self.head_dim) for proj in (self.wq, self.wk, self.wv))
        until = start_pos + length
        self.cache_k[:batch, start_pos:until] = k
        self.cache_v[:batch, start_pos:until] = v
        keys, values = self.cache_k[:batch, :until], self.cache_v[:batch, :until]
        scores = torch.einsum("blhd,bshd->bhls", q, keys) * self.head_dim**-0.5
        hidden = torch.full((length, until), float("-inf"), dtype=x.dtype).triu(start_pos + 1)
        return self.wo(torch.einsum("bhls,bshd->blhd", (scores + hidden).softmax(-1), values).flatten(2))
