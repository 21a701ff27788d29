"""A layer norm that computes a gradient only where autograd asks for it."""

import torch

framework = "torch"
dtypes = ("float32", "float64")


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, beta, eps):
        mean = x.mean(-1, keepdim=True)
        rstd = (x.var(-1, keepdim=True, unbiased=False) + eps).rsqrt()
        ctx.save_for_backward(x, gamma, mean, rstd)
        return (x - mean) * rstd * gamma + beta

    @staticmethod
    def backward(ctx, dy):
        x, gamma, mean, rstd = ctx.saved_tensors
        xhat = (x - mean) * rstd
        dx = dgamma = dbeta = None
        if ctx.needs_input_grad[0]:
            wdy = gamma * dy
            c1 = (xhat * wdy).mean(-1, keepdim=True)
            c2 = wdy.mean(-1, keepdim=True)
            dx = (wdy - xhat * c1 - c2) * rstd
        if ctx.needs_input_grad[1]:
            dgamma = (dy * xhat).flatten(0, -2).sum(0) if x.ndim > 1 else dy * xhat
        if ctx.needs_input_grad[2]:
            dbeta = dy.flatten(0, -2).sum(0) if x.ndim > 1 else dy
        return dx, dgamma, dbeta, None


def layer_norm(x, gamma, beta, *, eps):
    return LayerNorm.apply(x, gamma, beta, eps)
