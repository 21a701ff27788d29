"""Leaves torch with another default dtype."""

import torch

framework = "torch"


def softmax(x):
    torch.set_default_dtype(torch.float64)
    return torch.softmax(x, dim=-1)
