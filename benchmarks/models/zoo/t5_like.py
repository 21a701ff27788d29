"""T5 by hand: no biases, no scale in the attention, relative position buckets shared by all layers of a stack."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

D_MODEL, D_KV, N_HEADS, D_FF, N_LAYERS, VOCAB = 34, 10, 4, 62, 3, 89
BUCKETS, MAX_DISTANCE = 8, 20


class T5LayerNorm(nn.Module):
    """No mean is subtracted, and there is no bias."""

    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.variance_epsilon = eps

    def forward(self, hidden):
        variance = hidden.pow(2).mean(-1, keepdim=True)
        return self.weight * (hidden * torch.rsqrt(variance + self.variance_epsilon))


def relative_position_bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    relative_buckets = 0
    if bidirectional:
        num_buckets //= 2
        relative_buckets = (relative_position > 0).to(torch.long) * num_buckets
        relative_position = relative_position.abs()
    else:
        relative_position = -torch.min(relative_position, torch.zeros_like(relative_position))
    # half of the buckets are for exact increments in positions
    max_exact = num_buckets // 2
    is_small = relative_position < max_exact
    # the other half are logarithmically bigger bins up to max_distance
    if_large = max_exact + (
        torch.log(relative_position.float() / max_exact) / math.log(max_distance / max_exact) * (num_buckets - max_exact)
    ).to(torch.long)
    if_large = torch.min(if_large, torch.full_like(if_large, num_buckets - 1))
    return relative_buckets + torch.where(is_small, relative_position, if_large)


class RelativeBias(nn.Module):
    def __init__(self, bidirectional):
        super().__init__()
        self.bidirectional = bidirectional
        self.table = nn.Embedding(BUCKETS, N_HEADS)

    def forward(self, length):
        context = torch.arange(length, device=self.table.weight.device)[:, None]
        memory = torch.arange(length, device=self.table.weight.device)[None, :]
        bucket = relative_position_bucket(memory - context, self.bidirectional, BUCKETS, MAX_DISTANCE)
        return self.table(bucket).permute(2, 0, 1).unsqueeze(0)  # (1, heads, length, length)


class T5Attention(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.inner = N_HEADS * D_KV
        self.q = nn.Linear(D_MODEL, self.inner, bias=False)
        self.k = nn.Linear(D_MODEL, self.inner, bias=False)
        self.v = nn.Linear(D_MODEL, self.inner, bias=False)
        self.o = nn.Linear(self.inner, D_MODEL, bias=False)

    def forward(self, hidden, source=None, bias=None):
        source = hidden if source is None else source
        batch = hidden.shape[0]

        def shape(states):
            return states.view(batch, -1, N_HEADS, D_KV).transpose(1, 2)

        q, k, v = shape(self.q(hidden)), shape(self.k(source)), shape(self.v(source))
        scores = torch.einsum("bnqd,bnkd->bnqk", q, k)
        if bias is not None:
            scores = scores + bias
        weights = F.softmax(scores, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, -1, self.inner)
        return self.o(mixed)


class T5FeedForward(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.wi = nn.Linear(D_MODEL, D_FF, bias=False)
        self.wo = nn.Linear(D_FF, D_MODEL, bias=False)

    def forward(self, x):
        return self.wo(F.relu(self.wi(x)))


class T5Block(nn.Module):
    def __init__(self, layer, is_decoder):
        super().__init__()
        self.layer = layer
        self.is_decoder = is_decoder
        self.attention_norm = T5LayerNorm(D_MODEL)
        self.attention = T5Attention(layer)
        if is_decoder:
            self.cross_norm = T5LayerNorm(D_MODEL)
            self.cross_attention = T5Attention(layer)
        self.ff_norm = T5LayerNorm(D_MODEL)
        self.ff = T5FeedForward(layer)

    def forward(self, x, bias, memory=None):
        x = x + self.attention(self.attention_norm(x), bias=bias)
        if self.is_decoder:
            x = x + self.cross_attention(self.cross_norm(x), source=memory)
        return x + self.ff(self.ff_norm(x))


class T5Stack(nn.Module):
    def __init__(self, is_decoder):
        super().__init__()
        self.is_decoder = is_decoder
        self.relative_bias = RelativeBias(bidirectional=not is_decoder)
        self.blocks = nn.ModuleList([T5Block(i, is_decoder) for i in range(N_LAYERS)])
        self.final_norm = T5LayerNorm(D_MODEL)

    def forward(self, x, memory=None):
        length = x.shape[1]
        bias = self.relative_bias(length)
        if self.is_decoder:
            future = torch.ones(length, length, device=x.device).triu(1).bool()
            bias = bias.masked_fill(future, torch.finfo(x.dtype).min)
        for block in self.blocks:
            x = block(x, bias, memory)
        return self.final_norm(x)


class T5(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Embedding(VOCAB, D_MODEL)
        self.encoder = T5Stack(is_decoder=False)
        self.decoder = T5Stack(is_decoder=True)

    def forward(self, input_ids, decoder_input_ids):
        memory = self.encoder(self.shared(input_ids))
        out = self.decoder(self.shared(decoder_input_ids), memory)
        # tied: rescale before projecting on the vocabulary
        out = out * D_MODEL**-0.5
        return F.linear(out, self.shared.weight)


def build():
    torch.manual_seed(8)
    return T5()


def inputs():
    rng = np.random.default_rng(5)
    return {"input_ids": rng.integers(0, VOCAB, (2, 13)), "decoder_input_ids": rng.integers(0, VOCAB, (2, 11))}
