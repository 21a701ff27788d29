"""A correct implementation in PyTorch of attention of one head, as the module that a student writes."""

import math

import torch
from torch import nn

framework = "torch"


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_k, bias=False)
        self.W_k = nn.Linear(d_model, d_k, bias=False)
        self.W_v = nn.Linear(d_model, d_v, bias=False)
        self.d_model, self.d_k = d_model, d_k

    def forward(self, x, mask=None):
        Q, K, V = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attention = torch.softmax(scores, dim=-1)
        return torch.matmul(attention, V)


def single_head_attention(x, weights, *, mask=None):
    head = SingleHeadAttention(*weights.w_q.shape, weights.w_v.shape[1]).to(x.dtype)
    head.load_state_dict({f"W_{name}.weight": getattr(weights, f"w_{name}").T for name in "qkv"})
    return head(x, mask)
