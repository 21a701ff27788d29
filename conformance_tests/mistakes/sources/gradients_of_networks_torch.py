"""Feed-forward networks in PyTorch whose layers have backward passes of their own."""

import math

import torch
from torch.nn import functional

framework = "torch"


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


class GatedUnits(torch.autograd.Function):
    @staticmethod
    def forward(context, gate, up):
        context.save_for_backward(gate, up)
        return functional.silu(gate) * up

    @staticmethod
    def backward(context, grad_hidden):
        gate, up = context.saved_tensors
        share = torch.sigmoid(gate)
        active = gate * share
        grad_gate = grad_hidden * up * share * (1 + gate * (1 - share))
        grad_up = grad_hidden * active
        return grad_gate, grad_up


class GeluUnits(torch.autograd.Function):
    @staticmethod
    def forward(context, z):
        context.save_for_backward(z)
        return functional.gelu(z)

    @staticmethod
    def backward(context, grad_output):
        (z,) = context.saved_tensors
        share = 0.5 * (1 + torch.erf(z / math.sqrt(2)))
        density = torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        return grad_output * (share + z * density)


def feed_forward(x, weights, *, activation):
    z = Linear.apply(x, weights.w_1, weights.b_1)
    hidden = GeluUnits.apply(z) if activation == "gelu" else getattr(functional, activation)(z)
    return Linear.apply(hidden, weights.w_2, weights.b_2)


def gated_feed_forward(x, weights, *, activation):
    gate, up = Linear.apply(x, weights.w_gate, None), Linear.apply(x, weights.w_up, None)
    hidden = GatedUnits.apply(gate, up) if activation == "silu" else getattr(functional, activation)(gate) * up
    return Linear.apply(hidden, weights.w_down, None)
