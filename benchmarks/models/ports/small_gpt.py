"""A small GPT in PyTorch, after nanoGPT, for training on characters."""

import math

import numpy as np
import torch
from drawing import redraw
from torch import nn
from torch.nn import functional as F


class SelfAttention(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.proj = nn.Linear(width, width)
        self.register_buffer("tril", torch.tril(torch.ones(context, context)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (
            f(x).view(B, T, self.heads, C // self.heads).transpose(1, 2) for f in (self.query, self.key, self.value)
        )
        w = q @ k.transpose(-2, -1) / math.sqrt(C // self.heads)
        w = w.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        y = F.softmax(w, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.sa = SelfAttention(width, heads, context)
        self.ffwd = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.ln1 = nn.LayerNorm(width)
        self.ln2 = nn.LayerNorm(width)

    def forward(self, x):
        x = x + self.sa(self.ln1(x))
        return x + self.ffwd(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary=65, width=30, heads=3, context=18, layers=2):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads, context) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary)

    def forward(self, idx):
        x = self.token_embedding(idx) + self.position_embedding(torch.arange(idx.shape[1]))
        return self.lm_head(self.ln_f(self.blocks(x)))


def build():
    return redraw(GPT())


def inputs():
    return np.random.default_rng(13).integers(0, 65, (2, 14))
