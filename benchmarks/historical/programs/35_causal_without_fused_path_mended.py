"""A decoder whose attention takes the fused path where it can."""

import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, num_heads, key_dim, dropout=0.0, flash_attention=True):
        super().__init__()
        width = num_heads * key_dim
        self.query_dense, self.key_dense, self.value_dense = (nn.Linear(width, width) for _ in range(3))
        self.output_dense = nn.Linear(width, width)
        self.num_heads, self.dropout, self.flash_attention = num_heads, nn.Dropout(dropout), flash_attention

    def _compute_attention(self, q, k, v, use_causal_mask):
        fused = self.flash_attention and self.dropout.p == 0.0
        if fused:
            return F.scaled_dot_product_attention(q, k, v, is_causal=use_causal_mask)
        scores = torch.einsum("bhtd,bhsd->bhts", q * q.shape[-1] ** -0.5, k)
        if use_causal_mask:
            scores = scores.masked_fill(torch.ones_like(scores[0, 0]).tril() == 0, -1e9)
        return torch.einsum("bhts,bhsd->bhtd", self.dropout(scores.softmax(-1)), v)

    def forward(self, x, use_causal_mask=False):
        q, k, v = (f(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for f in (self.query_dense, self.key_dense, self.value_dense))
        return self.output_dense(self._compute_attention(q, k, v, use_causal_mask).transpose(1, 2).flatten(2))


class TransformerDecoder(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.self_attention = MultiHeadAttention(4, width // 4, dropout)
        self.self_attention_norm, self.feedforward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.intermediate, self.output = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.self_attention(self.self_attention_norm(x), use_causal_mask=True))
        return x + self.drop(self.output(F.gelu(self.intermediate(self.feedforward_norm(x)))))


class Decoder(nn.Module):
    def __init__(self, vocabulary=70, width=32, layers=2, dropout=0.1):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
        self.layers = nn.ModuleList(TransformerDecoder(width, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.logits = nn.Linear(width, vocabulary)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.logits(self.norm(x))


def build():
    torch.manual_seed(0)
    return Decoder().eval()
