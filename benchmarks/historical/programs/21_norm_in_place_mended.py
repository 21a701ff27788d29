"""RMSNorm of an inference engine."""

import torch


def rms_norm(x, weight, eps):
    orig_dtype = x.dtype
    x = x.float()
    var = x.pow(2).mean(dim=-1, keepdim=True)
    x = x.mul(torch.rsqrt(var + eps))
    return x.to(orig_dtype).mul(weight)
