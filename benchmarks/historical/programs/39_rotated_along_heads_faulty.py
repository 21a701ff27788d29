"""An encoder of audio tokens with rotary positions."""

import torch
from torch import nn


def rotate_half(x):
    x1, x2 = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
    return torch.stack((-x2, x1), dim=-1).flatten(-2)


def apply_rotary_pos_emb(freqs, t):
    seq_len = t.shape[-2]
    freqs = freqs[:seq_len].to(t.dtype)
    return t * freqs.cos() + rotate_half(t) * freqs.sin()


class MultiHeadAttention(nn.Module):
    def __init__(self, n_head, d_model):
        super().__init__()
        self.n_head = n_head
        self.w_qs, self.w_ks, self.w_vs = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.fc = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, freqs):
        b, n, _ = x.shape
        q = self.w_qs(x).view(b, n, self.n_head, -1)
        k = self.w_ks(x).view(b, n, self.n_head, -1)
        v = self.w_vs(x).view(b, n, self.n_head, -1)
        q, k = apply_rotary_pos_emb(freqs, q), apply_rotary_pos_emb(freqs, k)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        attn = torch.softmax(q @ k.transpose(2, 3) / q.shape[-1] ** 0.5, dim=-1)
        return self.fc((attn @ v).transpose(1, 2).reshape(b, n, -1))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.slf_attn = MultiHeadAttention(n_head, d_model)
        self.pos_ffn = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.GELU(), nn.Linear(2 * d_model, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, freqs):
        x = x + self.slf_attn(self.norm1(x), freqs)
        return x + self.pos_ffn(self.norm2(x))


class TransformerEncoder(nn.Module):
    def __init__(self, codes=100, d_model=32, n_head=4, n_layers=2, max_len=64):
        super().__init__()
        self.embed = nn.Embedding(codes, d_model)
        self.layers = nn.ModuleList(EncoderLayer(d_model, n_head) for _ in range(n_layers))
        dim = d_model // n_head
        angles = torch.arange(max_len).float()[:, None] * 10000.0 ** (-torch.arange(0, dim, 2).float() / dim)
        self.register_buffer("freqs", angles.repeat_interleave(2, dim=-1))

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, self.freqs)
        return x


def build():
    torch.manual_seed(0)
    return TransformerEncoder().eval()
