"""Attention of several heads as an exercise has it: a module without biases that attends from a sequence to itself."""

import math

import torch
from torch import nn

framework = "torch"
# It takes x alone, has no biases, and splits d_model among its heads, so that values are as wide as keys.
limitations = ("context", "biases", "value_width")


class SimpleMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def split(self, x):
        batch, length, _ = x.shape
        return x.view(batch, length, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, x, mask=None):
        q, k, v = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attended = torch.softmax(scores, dim=-1) @ v
        return self.W_o(attended.transpose(1, 2).flatten(2))


def multi_head_attention(x, context, weights, *, num_heads, mask=None):
    module = SimpleMultiHeadAttention(x.shape[-1], num_heads).to(x.dtype)
    # A linear layer holds its matrix transposed.
    module.load_state_dict({f"W_{name}.weight": getattr(weights, f"w_{name}").T for name in "qkvo"})
    return module(x, mask)
