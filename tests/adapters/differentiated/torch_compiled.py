"""A layer norm whose function is compiled, forwards and backwards."""

import torch

framework = "torch"
dtypes = ("float32",)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, beta, eps):
        centred = x - x.mean(-1, keepdim=True)
        inverse = torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + eps)
        normed = centred * inverse
        ctx.save_for_backward(normed, inverse, gamma)
        return normed * gamma + beta

    @staticmethod
    def backward(ctx, grad):
        normed, inverse, gamma = ctx.saved_tensors
        g = grad * gamma
        of_mean = g.mean(-1, keepdim=True)
        of_variance = normed * (g * normed).mean(-1, keepdim=True)
        rows = grad.reshape(-1, gamma.shape[0])
        dx = inverse * (g - of_mean - of_variance)
        return dx, (rows * normed.reshape(rows.shape)).sum(0), rows.sum(0), None


# The tracer of both passes, without a compiler of C++.
@torch.compile(backend="aot_eager", dynamic=True)
def compiled(x, gamma, beta, eps):
    return LayerNorm.apply(x, gamma, beta, eps)


def layer_norm(x, gamma, beta, *, eps):
    return compiled(x, gamma, beta, eps)
