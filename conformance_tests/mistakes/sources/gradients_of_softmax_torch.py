"""Softmax in PyTorch with a backward pass of its own, which keeps the weights."""

import torch

framework = "torch"


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        weights = torch.softmax(x, dim=-1)
        context.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(context, grad_output):
        (weights,) = context.saved_tensors
        products = grad_output * weights
        return products - weights * products.sum(dim=-1, keepdim=True)


def softmax(x):
    return Softmax.apply(x)
