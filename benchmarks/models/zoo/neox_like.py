"""GPT-NeoX in small: attention and feed-forward in parallel, rotary positions on a part of each head."""

import torch
import torch.nn as nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        self.register_buffer("inv_freq", inv_freq)

    def forward(self, seq_len):
        t = torch.arange(seq_len, device=self.inv_freq.device).type_as(self.inv_freq)
        freqs = torch.einsum("i,j->ij", t, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos()[None, None, :, :], emb.sin()[None, None, :, :]


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


class ParallelSelfAttention(nn.Module):
    def __init__(self, width, heads, rotary_pct, layer_number):
        super().__init__()
        self.layer_number = layer_number
        self.heads = heads
        self.head_size = width // heads
        self.rotary_ndims = int(self.head_size * rotary_pct)
        self.rotary_emb = RotaryEmbedding(self.rotary_ndims)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.dense = nn.Linear(width, width)

    def forward(self, x):
        b, s, w = x.shape
        # [batch, seq, heads * 3 * head_size] -> three of [batch, heads, seq, head_size]
        qkv = self.query_key_value(x).view(b, s, self.heads, 3 * self.head_size)
        query, key, value = (t.permute(0, 2, 1, 3) for t in qkv.chunk(3, dim=-1))

        query_rot, query_pass = query[..., : self.rotary_ndims], query[..., self.rotary_ndims :]
        key_rot, key_pass = key[..., : self.rotary_ndims], key[..., self.rotary_ndims :]
        cos, sin = self.rotary_emb(s)
        query_rot = query_rot * cos + rotate_half(query_rot) * sin
        key_rot = key_rot * cos + rotate_half(key_rot) * sin
        query = torch.cat((query_rot, query_pass), dim=-1)
        key = torch.cat((key_rot, key_pass), dim=-1)

        scores = query @ key.mT * self.head_size**-0.5
        future = ~torch.ones(s, s, dtype=torch.bool, device=x.device).tril()
        scores = torch.where(future, torch.finfo(scores.dtype).min, scores)
        probs = torch.softmax(scores, -1)
        context = (probs @ value).permute(0, 2, 1, 3).contiguous().view(b, s, w)
        return self.dense(context)


class ParallelMLP(nn.Module):
    def __init__(self, width, inner, layer_number):
        super().__init__()
        self.layer_number = layer_number
        self.dense_h_to_4h = nn.Linear(width, inner)
        self.dense_4h_to_h = nn.Linear(inner, width)
        self.activation = nn.GELU()

    def forward(self, x):
        return self.dense_4h_to_h(self.activation(self.dense_h_to_4h(x)))


class ParallelTransformerLayer(nn.Module):
    def __init__(self, width, heads, inner, rotary_pct, layer_number):
        super().__init__()
        self.layer_number = layer_number
        self.input_layernorm = nn.LayerNorm(width)
        self.attention = ParallelSelfAttention(width, heads, rotary_pct, layer_number)
        self.post_attention_layernorm = nn.LayerNorm(width)
        self.mlp = ParallelMLP(width, inner, layer_number)

    def forward(self, x):
        # pseudocode: x = x + attn(ln1(x)) + mlp(ln2(x))
        attention_output = self.attention(self.input_layernorm(x))
        mlp_output = self.mlp(self.post_attention_layernorm(x))
        return x + attention_output + mlp_output


class NeoX(nn.Module):
    def __init__(self, vocab=95, width=48, heads=3, layers=3, inner=86, rotary_pct=0.25):
        super().__init__()
        self.embed_in = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(
            ParallelTransformerLayer(width, heads, inner, rotary_pct, i) for i in range(layers)
        )
        self.final_layer_norm = nn.LayerNorm(width)
        self.embed_out = nn.Linear(width, vocab, bias=False)

    def forward(self, tokens):
        x = self.embed_in(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.embed_out(self.final_layer_norm(x))


def build():
    torch.manual_seed(20)
    return NeoX()
