"""GPT-NeoX in small, with a cache, for batches that are padded on the left."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.query_key_value, self.dense = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)

    def rotate(self, x, position_ids):
        inv_freq = 10000.0 ** (-torch.arange(0, self.size, 2, dtype=x.dtype) / self.size)
        angle = (position_ids[..., None] * inv_freq)[:, None]
        x1, x2 = x.chunk(2, -1)
        return torch.cat((x1 * angle.cos() - x2 * angle.sin(), x2 * angle.cos() + x1 * angle.sin()), -1)

    def forward(self, x, visible, position_ids, past):
        b, n, _ = x.shape
        qkv = self.query_key_value(x).view(b, n, self.heads, 3 * self.size).transpose(1, 2)
        q, k, v = qkv.chunk(3, -1)
        q, k = self.rotate(q, position_ids), self.rotate(k, position_ids)
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        return self.dense(y.transpose(1, 2).reshape(b, n, -1)), (k, v)


class Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.attention = Attention(hidden, heads)
        self.mlp = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))

    def forward(self, x, visible, position_ids, past):
        y, kept = self.attention(self.input_layernorm(x), visible, position_ids, past)
        return x + y + self.mlp(self.post_attention_layernorm(x)), kept


class Model(nn.Module):
    def __init__(self, vocab=70, hidden=32, heads=4, layers=2):
        super().__init__()
        self.embed_in = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(Layer(hidden, heads) for _ in range(layers))
        self.final_layer_norm, self.embed_out = nn.LayerNorm(hidden), nn.Linear(hidden, vocab, bias=False)

    def forward(self, input_ids, attention_mask=None, past_key_values=None):
        """attention_mask covers what is in the cache, too."""
        b, n = input_ids.shape
        start = past_key_values[0][0].shape[2] if past_key_values is not None else 0
        if attention_mask is None:
            attention_mask = torch.ones(b, start + n, dtype=torch.long)
        position_ids = (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, start:]
        if start > 0:
            position_ids = torch.arange(start, start + n).expand(b, n)
        visible = torch.ones(n, start + n, dtype=torch.bool).tril(start)
        visible = (visible & attention_mask.bool()[:, None, None]) | torch.eye(start + n, dtype=torch.bool)[start:]
        x, kept = self.embed_in(input_ids), []
        for i, layer in enumerate(self.layers):
            x, state = layer(x, visible, position_ids, past_key_values[i] if past_key_values is not None else None)
            kept.append(state)
        return self.embed_out(self.final_layer_norm(x)), kept


def build():
    torch.manual_seed(0)
    return Model().eval()
