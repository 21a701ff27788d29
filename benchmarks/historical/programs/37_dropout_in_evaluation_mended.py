"""A decoder with grouped heads; attention through PyTorch's fused function."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_heads, attn_dropout):
        super().__init__()
        head_dim = embed_dim // num_heads
        self.num_heads, self.num_kv_heads, self.head_dim, self.attn_dropout = num_heads, num_kv_heads, head_dim, attn_dropout
        self.q_proj = nn.Linear(embed_dim, num_heads * head_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_kv_heads * head_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_kv_heads * head_dim, bias=False)
        self.output_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x):
        b, s, _ = x.shape
        q = self.q_proj(x).view(b, s, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, s, self.num_kv_heads, 1, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, s, self.num_kv_heads, 1, self.head_dim).transpose(1, 2)
        per_kv = self.num_heads // self.num_kv_heads
        k, v = (t.squeeze(3).repeat_interleave(per_kv, dim=1) for t in (k, v))
        output = nn.functional.scaled_dot_product_attention(
            q, k, v, dropout_p=self.attn_dropout if self.training else 0.0, is_causal=True
        )
        return self.output_proj(output.transpose(1, 2).reshape(b, s, -1))


class TransformerSelfAttentionLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.sa_norm, self.mlp_norm = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
        self.attn = MultiHeadAttention(dim, 4, 2, attn_dropout=0.1)
        self.w1, self.w3, self.w2 = nn.Linear(dim, 48, bias=False), nn.Linear(dim, 48, bias=False), nn.Linear(48, dim, bias=False)

    def forward(self, x):
        h = x + self.attn(self.sa_norm(x))
        y = self.mlp_norm(h)
        return h + self.w2(nn.functional.silu(self.w1(y)) * self.w3(y))


class TransformerDecoder(nn.Module):
    def __init__(self, vocab_size=90, dim=32, num_layers=2, max_seq_len=64):
        super().__init__()
        self.tok_embeddings, self.pos_embeddings = nn.Embedding(vocab_size, dim), nn.Embedding(max_seq_len, dim)
        self.layers = nn.ModuleList([TransformerSelfAttentionLayer(dim) for _ in range(num_layers)])
        self.norm = nn.RMSNorm(dim, eps=1e-5)
        self.output = nn.Linear(dim, vocab_size, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens) + self.pos_embeddings(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h)).float()


def build():
    torch.manual_seed(0)
    return TransformerDecoder().eval()
