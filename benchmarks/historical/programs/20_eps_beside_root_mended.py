"""RMSNorm as a function."""

import torch


def rms_norm(x, weight, eps=1e-6):
    original = x.dtype
    x = x.to(torch.float32)
    normed = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps)
    return weight * normed.to(original)
