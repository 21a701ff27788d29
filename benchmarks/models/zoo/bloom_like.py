"""BLOOM in small: ALiBi, query, key and value interleaved per head, a norm right after the embedding."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def alibi_slopes(n_heads):
    closest = 2 ** math.floor(math.log2(n_heads))
    base = 2 ** (-(2 ** -(math.log2(closest) - 3)))
    slopes = [base**i for i in range(1, closest + 1)]
    if closest != n_heads:
        extra = 2 ** (-(2 ** -(math.log2(2 * closest) - 3)))
        slopes += [extra**i for i in range(1, 2 * (n_heads - closest) + 1, 2)]
    return torch.tensor(slopes)


class BloomAttention(nn.Module):
    def __init__(self, hidden_size, n_head, layer_number):
        super().__init__()
        self.layer_number = layer_number
        self.num_heads = n_head
        self.head_dim = hidden_size // n_head
        self.inv_norm_factor = 1.0 / math.sqrt(self.head_dim)
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size, bias=True)
        self.dense = nn.Linear(hidden_size, hidden_size)

    def _split_heads(self, fused_qkv):
        batch_size, seq_length, _ = fused_qkv.shape
        fused_qkv = fused_qkv.view(batch_size, seq_length, self.num_heads, 3, self.head_dim)
        query = fused_qkv[..., 0, :].transpose(1, 2)
        key = fused_qkv[..., 1, :].transpose(1, 2)
        value = fused_qkv[..., 2, :].transpose(1, 2)
        return query, key, value

    def forward(self, hidden_states, alibi, causal_mask):
        bs, length, _ = hidden_states.shape
        query, key, value = self._split_heads(self.query_key_value(hidden_states))
        query = query.reshape(bs * self.num_heads, length, self.head_dim)
        key = key.reshape(bs * self.num_heads, length, self.head_dim).transpose(-1, -2)
        value = value.reshape(bs * self.num_heads, length, self.head_dim)

        attention_scores = alibi.repeat(bs, 1, 1).baddbmm(query, key, beta=1.0, alpha=self.inv_norm_factor)
        attention_scores = attention_scores.view(bs, self.num_heads, length, length)
        attention_scores = attention_scores.masked_fill(causal_mask, torch.finfo(attention_scores.dtype).min)
        attention_probs = F.softmax(attention_scores, dim=-1).view(bs * self.num_heads, length, length)

        context = torch.bmm(attention_probs, value)
        context = context.view(bs, self.num_heads, length, self.head_dim).permute(0, 2, 1, 3).reshape(bs, length, -1)
        return self.dense(context)


def bloom_gelu(x):
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


class BloomMLP(nn.Module):
    def __init__(self, hidden_size, layer_number):
        super().__init__()
        self.layer_number = layer_number
        self.dense_h_to_4h = nn.Linear(hidden_size, 4 * hidden_size)
        self.dense_4h_to_h = nn.Linear(4 * hidden_size, hidden_size)

    def forward(self, hidden_states):
        return self.dense_4h_to_h(bloom_gelu(self.dense_h_to_4h(hidden_states)))


class BloomBlock(nn.Module):
    def __init__(self, hidden_size, n_head, layer_number):
        super().__init__()
        self.layer_number = layer_number
        self.input_layernorm = nn.LayerNorm(hidden_size)
        self.self_attention = BloomAttention(hidden_size, n_head, layer_number)
        self.post_attention_layernorm = nn.LayerNorm(hidden_size)
        self.mlp = BloomMLP(hidden_size, layer_number)

    def forward(self, hidden_states, alibi, causal_mask):
        residual = hidden_states
        hidden_states = self.self_attention(self.input_layernorm(hidden_states), alibi, causal_mask) + residual
        residual = hidden_states
        hidden_states = self.mlp(self.post_attention_layernorm(hidden_states)) + residual
        return hidden_states


class Bloom(nn.Module):
    def __init__(self, vocab_size=91, hidden_size=42, n_head=3, n_layer=3):
        super().__init__()
        self.n_head = n_head
        self.word_embeddings = nn.Embedding(vocab_size, hidden_size)
        self.word_embeddings_layernorm = nn.LayerNorm(hidden_size)
        self.h = nn.ModuleList([BloomBlock(hidden_size, n_head, i) for i in range(n_layer)])
        self.ln_f = nn.LayerNorm(hidden_size)
        self.register_buffer("slopes", alibi_slopes(n_head), persistent=False)

    def forward(self, input_ids):
        length = input_ids.shape[1]
        x = self.word_embeddings_layernorm(self.word_embeddings(input_ids))
        # depends on the key's position alone: the softmax does not see a constant for each query
        alibi = self.slopes[:, None, None] * torch.arange(length, device=x.device)[None, None, :]
        causal_mask = torch.triu(torch.ones(length, length, dtype=torch.bool, device=x.device), diagonal=1)
        for block in self.h:
            x = block(x, alibi.to(x.dtype), causal_mask)
        return F.linear(self.ln_f(x), self.word_embeddings.weight)


def build():
    torch.manual_seed(176)
    return Bloom()
