"""A correct implementation in PyTorch of norms, activations and feed-forward networks; the tests change one line."""

import math

import torch

framework = "torch"
conventions = {"gelu_form": "erf"}


def layer_norm(x, gamma, beta, *, eps):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return (x - mean) * torch.rsqrt(variance + eps) * gamma + beta


def rms_norm(x, gamma, *, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gamma


def gelu(x):
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def silu(x):
    return x * torch.sigmoid(x)


def feed_forward(x, weights, *, activation):
    act = {"relu": torch.relu, "gelu": gelu, "silu": silu}[activation]
    hidden = act(torch.nn.functional.linear(x, weights.w_1.T, weights.b_1))
    return torch.nn.functional.linear(hidden, weights.w_2.T, weights.b_2)


def gated_feed_forward(x, weights, *, activation):
    act = {"relu": torch.relu, "gelu": gelu, "silu": silu}[activation]
    return (act(x @ weights.w_gate) * (x @ weights.w_up)) @ weights.w_down
