"""Layers built of `nn.Linear`, `nn.LayerNorm` and `F.scaled_dot_product_attention`, made anew at every call."""

import torch
import torch.nn.functional as F
from torch import nn

framework = "torch"
ACTIVATION = {"relu": nn.ReLU(), "gelu": nn.GELU(), "silu": nn.SiLU()}


def linear(weight, bias):
    layer = nn.Linear(*weight.shape, bias=bias is not None, dtype=weight.dtype)
    layer.weight.data = weight.T
    if bias is not None:
        layer.bias.data = bias
    return layer


def layer_norm_of(p, eps):
    layer = nn.LayerNorm(p.gamma.numel(), eps=eps, dtype=p.gamma.dtype)
    layer.weight.data, layer.bias.data = p.gamma, p.beta
    return layer


class SelfAttention(nn.Module):
    def __init__(self, p, heads):
        super().__init__()
        self.heads = heads
        biases = [torch.zeros_like(p.w_q[0]) if bias is None else bias for bias in (p.b_q, p.b_k, p.b_v)]
        self.qkv = linear(torch.cat([p.w_q, p.w_k, p.w_v], 1), torch.cat(biases))
        self.proj = linear(p.w_o, p.b_o)

    def forward(self, x, keep):
        b, n, e = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, e // self.heads).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v, attn_mask=keep).transpose(1, 2).reshape(b, n, e))


class EncoderBlock(nn.Module):
    def __init__(self, weights, num_heads, norm_first, activation, eps):
        super().__init__()
        self.norm_first = norm_first
        self.attention = SelfAttention(weights.self_attention, num_heads)
        ff = weights.feed_forward
        self.network = nn.Sequential(linear(ff.w_1, ff.b_1), ACTIVATION[activation], linear(ff.w_2, ff.b_2))
        self.norm_1, self.norm_2 = layer_norm_of(weights.norm_1, eps), layer_norm_of(weights.norm_2, eps)

    def forward(self, x, keep):
        if self.norm_first:
            x = x + self.attention(self.norm_1(x), keep)
            return x + self.network(self.norm_2(x))
        x = self.norm_1(x + self.attention(x, keep))
        return self.norm_2(x + self.network(x))


@torch.no_grad()
def encoder_layer(x, weights, *, num_heads, norm_first, activation, eps, padding_mask=None):
    keep = None if padding_mask is None else padding_mask[:, None, None, :]
    return EncoderBlock(weights, num_heads, norm_first, activation, eps)(x, keep)
