"""Dropout in PyTorch as a function with a backward pass of its own; the tests change one line at a time."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16")


class Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p, seed):
        generator = torch.Generator().manual_seed(seed)
        keep = torch.rand(x.shape, generator=generator) >= p
        ctx.save_for_backward(keep)
        ctx.scale = 1 / (1 - p)
        return x * keep * ctx.scale

    @staticmethod
    def backward(ctx, grad):
        (keep,) = ctx.saved_tensors
        return grad * keep * ctx.scale, None, None


def dropout(x, *, rate, seed, training=True):
    return Dropout.apply(x, rate if training else 0.0, seed)
