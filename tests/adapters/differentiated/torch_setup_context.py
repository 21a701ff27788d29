"""An RMS norm whose function has a context of its own step, with a backward pass that is not differentiated again."""

import torch
from torch.autograd.function import once_differentiable

framework = "torch"
dtypes = ("float32", "float64")


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(x, gamma, eps):
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        return x * rstd * gamma, rstd

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, gamma, _ = inputs
        _, rstd = output
        ctx.mark_non_differentiable(rstd)
        ctx.save_for_backward(x, gamma, rstd)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, _):
        x, gamma, rstd = ctx.saved_tensors
        xhat = x * rstd
        wdy = dy * gamma
        dx = rstd * (wdy - xhat * (wdy * xhat).mean(-1, keepdim=True))
        dgamma = (dy * xhat).reshape(-1, gamma.shape[0]).sum(0)
        return dx, dgamma, None


def rms_norm(x, gamma, *, eps):
    return RMSNorm.apply(x, gamma, eps)[0]
