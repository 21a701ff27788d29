"""A layer norm that writes its result into a buffer of its own."""

import torch

framework = "torch"
dtypes = ("float32", "float64")


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, beta, eps):
        y = x - x.mean(-1, keepdim=True)
        rstd = torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)
        y *= rstd
        ctx.save_for_backward(y.clone(), rstd, gamma)
        return y.mul_(gamma).add_(beta)

    @staticmethod
    def backward(ctx, dy):
        xhat, rstd, gamma = ctx.saved_tensors
        g = dy * gamma
        dx = rstd * (g - g.mean(-1, keepdim=True) - xhat * (g * xhat).mean(-1, keepdim=True))
        over = tuple(range(dy.ndim - 1))
        return dx, (dy * xhat).sum(over) if over else dy * xhat, dy.sum(over) if over else dy, None


def layer_norm(x, gamma, beta, *, eps):
    return LayerNorm.apply(x, gamma, beta, eps)
