# DeepNorm: post-norm with the stream multiplied by alpha before each sum; sines and cosines; a bidirectional encoder.
import math

import torch
from torch import nn


class SinusoidalPositionalEmbedding(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        half = dim // 2
        freq = torch.exp(torch.arange(half, dtype=torch.float) * -(math.log(10000.0) / half))
        angle = torch.arange(length, dtype=torch.float).unsqueeze(1) * freq.unsqueeze(0)
        self.register_buffer("weights", torch.cat([torch.sin(angle), torch.cos(angle)], dim=1), persistent=False)

    def forward(self, length):
        return self.weights[:length]


class DeepNormLayer(nn.Module):
    def __init__(self, d, h, ffn, alpha):
        super().__init__()
        self.h, self.alpha = h, alpha
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d, d) for _ in range(4))
        self.self_attn_layer_norm = nn.LayerNorm(d)
        self.fc1, self.fc2 = nn.Linear(d, ffn), nn.Linear(ffn, d)
        self.final_layer_norm = nn.LayerNorm(d)

    def attend(self, x):
        b, n, d = x.shape
        q = self.q_proj(x) * (d // self.h) ** -0.5
        q, k, v = (t.view(b, n, self.h, -1).transpose(1, 2) for t in (q, self.k_proj(x), self.v_proj(x)))
        p = torch.softmax(q @ k.transpose(-1, -2), -1)
        return self.out_proj((p @ v).transpose(1, 2).contiguous().view(b, n, d))

    def forward(self, x):
        x = self.self_attn_layer_norm(x * self.alpha + self.attend(x))
        return self.final_layer_norm(x * self.alpha + self.fc2(nn.functional.gelu(self.fc1(x))))


class DeepEncoder(nn.Module):
    def __init__(self, vocab=70, d=40, h=4, ffn=88, layers=4):
        super().__init__()
        self.d = d
        self.embed_tokens = nn.Embedding(vocab, d)
        self.embed_positions = SinusoidalPositionalEmbedding(d, 64)
        self.layernorm_embedding = nn.LayerNorm(d)
        self.layers = nn.ModuleList(DeepNormLayer(d, h, ffn, (2 * layers) ** 0.25) for _ in range(layers))
        self.output_projection = nn.Linear(d, vocab)

    def forward(self, tokens):
        x = math.sqrt(self.d) * self.embed_tokens(tokens) + self.embed_positions(tokens.size(1))
        x = self.layernorm_embedding(x)
        for layer in self.layers:
            x = layer(x)
        return self.output_projection(x)


def build():
    torch.manual_seed(7)
    return DeepEncoder()
