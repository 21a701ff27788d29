"""Feed-forward networks in PyTorch whose layers have backward passes of their own."""

import math

import torch
from torch.nn import functional

framework = "torch"


def slope_of(activation, z):
    if activation == "relu":
        return (z > 0).to(z.dtype)
    if activation == "silu":
        gate = torch.sigmoid(z)
        return gate * (1 + z * (1 - gate))
    gate = 0.5 * (1 + torch.erf(z / math.sqrt(2)))
    return gate + z * torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight, bias):
        context.save_for_backward(x, weight)
        context.has_bias = bias is not None
        output = x @ weight
        return output if bias is None else output + bias

    @staticmethod
    def backward(context, grad_output):
        x, weight = context.saved_tensors
        rows, grad_rows = x.reshape(-1, x.shape[-1]), grad_output.reshape(-1, grad_output.shape[-1])
        grad_x = grad_output @ weight.T
        grad_bias = grad_rows.sum(dim=0) if context.has_bias else None
        return grad_x, rows.T @ grad_rows, grad_bias


class Units(torch.autograd.Function):
    @staticmethod
    def forward(context, z, activation):
        context.save_for_backward(z)
        context.activation = activation
        return getattr(functional, activation)(z)

    @staticmethod
    def backward(context, grad_output):
        (z,) = context.saved_tensors
        return grad_output * slope_of(context.activation, z), None


class GatedUnits(torch.autograd.Function):
    @staticmethod
    def forward(context, gate, up, activation):
        context.save_for_backward(gate, up)
        context.activation = activation
        return getattr(functional, activation)(gate) * up

    @staticmethod
    def backward(context, grad_hidden):
        gate, up = context.saved_tensors
        active = getattr(functional, context.activation)(gate)
        grad_gate = grad_hidden * up * slope_of(context.activation, gate)
        grad_up = grad_hidden * active
        return grad_gate, grad_up, None


def feed_forward(x, weights, *, activation):
    z = Linear.apply(x, weights.w_1, weights.b_1)
    return Linear.apply(Units.apply(z, activation), weights.w_2, weights.b_2)


def gated_feed_forward(x, weights, *, activation):
    gate, up = Linear.apply(x, weights.w_gate, None), Linear.apply(x, weights.w_up, None)
    return Linear.apply(GatedUnits.apply(gate, up, activation), weights.w_down, None)
