import torch
import torch.nn as nn


class LayerNormFunction(torch.autograd.Function):
    """y = (x - mean) / sqrt(var + eps) * w + b over the last dimension."""

    @staticmethod
    def forward(ctx, x, w, b, eps):
        mean = x.mean(dim=-1, keepdim=True)
        var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        inv = torch.rsqrt(var + eps)
        norm = (x - mean) * inv
        ctx.save_for_backward(norm, inv, w)
        return norm * w + b

    @staticmethod
    def backward(ctx, grad_out):
        norm, inv, w = ctx.saved_tensors
        n = norm.shape[-1]
        flat_g = grad_out.reshape(-1, n)
        flat_n = norm.reshape(-1, n)
        grad_w = (flat_g * flat_n).sum(0)
        grad_b = flat_g.sum(0)
        grad_norm = grad_out * w
        grad_x = inv * (grad_norm - grad_norm.mean(dim=-1, keepdim=True))
        return grad_x, grad_w, grad_b, None


class FastLayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.bias = nn.Parameter(torch.zeros(hidden_size))
        self.eps = eps

    def forward(self, hidden_states):
        return LayerNormFunction.apply(hidden_states, self.weight, self.bias, self.eps)
