"""An encoder-decoder in small."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x, states, is_causal=False):
        q = self.q_proj(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = (f(states).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.k_proj, self.v_proj))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.self_attn = Attention(d, heads)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.ffn = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.self_attn(y, y, is_causal=False)
        return x + self.ffn(self.norm2(x))


class DecoderLayer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.self_attn, self.multihead_attn = Attention(d, heads), Attention(d, heads)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.ffn = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def forward(self, tgt, memory, is_causal=True):
        y = self.norm1(tgt)
        tgt = tgt + self.self_attn(y, y, is_causal=is_causal)
        tgt = tgt + self.multihead_attn(self.norm2(tgt), memory)
        return tgt + self.ffn(self.norm3(tgt))


class Seq2Seq(nn.Module):
    def __init__(self, vocab=64, d=32, heads=4, layers=2):
        super().__init__()
        self.embed, self.positions = nn.Embedding(vocab, d), nn.Embedding(64, d)
        self.encoder = nn.ModuleList(EncoderLayer(d, heads) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderLayer(d, heads) for _ in range(layers))
        self.encoder_norm, self.decoder_norm, self.head = nn.LayerNorm(d), nn.LayerNorm(d), nn.Linear(d, vocab)

    def embedded(self, ids):
        return self.embed(ids) + self.positions.weight[: ids.shape[1]]

    def forward(self, input_ids, decoder_input_ids):
        memory = self.embedded(input_ids)
        for layer in self.encoder:
            memory = layer(memory)
        memory, x = self.encoder_norm(memory), self.embedded(decoder_input_ids)
        for layer in self.decoder:
            x = layer(x, memory)
        return self.head(self.decoder_norm(x))


def build():
    torch.manual_seed(0)
    return Seq2Seq().eval()
