"""GELU and SiLU in PyTorch with backward passes of their own."""

import math

import torch

framework = "torch"


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        output = torch.nn.functional.gelu(x)
        context.save_for_backward(x)
        return output

    @staticmethod
    def backward(context, grad_output):
        (x,) = context.saved_tensors
        gate = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        slope = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return grad_output * (gate + x * slope)


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(context, grad_output):
        (x,) = context.saved_tensors
        gate = torch.sigmoid(x)
        return grad_output * gate * (1 + x * (1 - gate))


def gelu(x):
    return Gelu.apply(x)


def silu(x):
    return Silu.apply(x)
