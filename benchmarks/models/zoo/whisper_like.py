# Speech to text: two convolutions, sines and cosines, an encoder, and a decoder that attends to it.
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def sinusoids(length, channels, max_timescale=10000):
    increment = np.log(max_timescale) / (channels // 2 - 1)
    scales = torch.exp(-increment * torch.arange(channels // 2))
    time = torch.arange(length)[:, None] * scales[None, :]
    return torch.cat([torch.sin(time), torch.cos(time)], dim=1)


class MultiHeadAttention(nn.Module):
    def __init__(self, n_state, n_head):
        super().__init__()
        self.n_head = n_head
        self.query, self.key = nn.Linear(n_state, n_state), nn.Linear(n_state, n_state, bias=False)
        self.value, self.out = nn.Linear(n_state, n_state), nn.Linear(n_state, n_state)

    def forward(self, x, xa=None, mask=None):
        q, k, v = self.query(x), self.key(x if xa is None else xa), self.value(x if xa is None else xa)
        n_batch, n_ctx, n_state = q.shape
        scale = (n_state // self.n_head) ** -0.25
        q = q.view(*q.shape[:2], self.n_head, -1).permute(0, 2, 1, 3) * scale
        k = k.view(*k.shape[:2], self.n_head, -1).permute(0, 2, 3, 1) * scale
        v = v.view(*v.shape[:2], self.n_head, -1).permute(0, 2, 1, 3)
        qk = q @ k
        if mask is not None:
            qk = qk + mask[:n_ctx, :n_ctx]
        w = F.softmax(qk.float(), dim=-1).to(q.dtype)
        return self.out((w @ v).permute(0, 2, 1, 3).flatten(start_dim=2))


class ResidualAttentionBlock(nn.Module):
    def __init__(self, n_state, n_head, cross=False):
        super().__init__()
        self.attn, self.attn_ln = MultiHeadAttention(n_state, n_head), nn.LayerNorm(n_state)
        self.cross_attn = MultiHeadAttention(n_state, n_head) if cross else None
        self.cross_attn_ln = nn.LayerNorm(n_state) if cross else None
        self.mlp = nn.Sequential(nn.Linear(n_state, n_state * 4), nn.GELU(), nn.Linear(n_state * 4, n_state))
        self.mlp_ln = nn.LayerNorm(n_state)

    def forward(self, x, xa=None, mask=None):
        x = x + self.attn(self.attn_ln(x), mask=mask)
        if self.cross_attn:
            x = x + self.cross_attn(self.cross_attn_ln(x), xa)
        return x + self.mlp(self.mlp_ln(x))


class Speech(nn.Module):
    def __init__(self, mels=10, vocab=57, state=36, heads=3, depth=3, audio=12, text=16):
        super().__init__()
        self.conv1 = nn.Conv1d(mels, state, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(state, state, kernel_size=3, stride=2, padding=1)
        self.register_buffer("positional_embedding", sinusoids(audio, state))
        self.enc = nn.ModuleList(ResidualAttentionBlock(state, heads) for _ in range(depth))
        self.ln_post = nn.LayerNorm(state)
        self.token_embedding = nn.Embedding(vocab, state)
        self.text_positions = nn.Parameter(torch.randn(text, state) * 0.02)
        self.dec = nn.ModuleList(ResidualAttentionBlock(state, heads, cross=True) for _ in range(depth))
        self.ln = nn.LayerNorm(state)
        self.register_buffer("mask", torch.empty(text, text).fill_(-np.inf).triu_(1), persistent=False)

    def forward(self, mel, tokens):
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).permute(0, 2, 1)
        x = (x + self.positional_embedding).to(x.dtype)
        for block in self.enc:
            x = block(x)
        xa = self.ln_post(x)
        y = self.token_embedding(tokens) + self.text_positions[: tokens.shape[-1]]
        for block in self.dec:
            y = block(y, xa, mask=self.mask)
        return self.ln(y) @ self.token_embedding.weight.transpose(0, 1)


def build():
    torch.manual_seed(16)
    return Speech()


def inputs():
    generator = np.random.default_rng(3)
    return generator.normal(size=(2, 10, 24)).astype("float32"), generator.integers(1, 57, (2, 9))
