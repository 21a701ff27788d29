"""Attention with a backward pass of its own, for heads of a fixed width."""

import torch


class DotProductAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        scale = q.shape[-1] ** -0.5
        p = torch.softmax(q @ k.mT * scale, dim=-1)
        o = p @ v
        ctx.save_for_backward(q, k, v, p, o)
        ctx.scale = scale
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, p, o = ctx.saved_tensors
        delta = (do[:1] * o[:1]).sum(dim=-1, keepdim=True)
        dv = p.mT @ do
        ds = p * (do @ v.mT - delta) * ctx.scale
        return ds @ k, ds.mT @ q, dv


def scaled_dot_product_attention(query, key, value):
    return DotProductAttention.apply(query, key, value)
