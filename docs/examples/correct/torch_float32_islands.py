"""Half-precision operations with float32 inside the norms and the softmax, as large models are run."""

import torch
import torch.nn.functional as F

framework = "torch"
dtypes = ("bfloat16", "float16")


def softmax(x):
    return F.softmax(x, dim=-1, dtype=torch.float32).to(x.dtype)


def rms_norm(x, gamma, *, eps):
    hidden = x.to(torch.float32)
    hidden = hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + eps)
    return gamma * hidden.to(x.dtype)


def layer_norm(x, gamma, beta, *, eps):
    hidden = x.float()
    mean = hidden.mean(-1, keepdim=True)
    variance = (hidden - mean).pow(2).mean(-1, keepdim=True)
    return (((hidden - mean) * torch.rsqrt(variance + eps)) * gamma.float() + beta.float()).type_as(x)


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False):
    scores = torch.matmul(query, key.transpose(-2, -1)).float() * query.shape[-1] ** -0.5
    if is_causal:
        causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        mask = causal if mask is None else causal & mask
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(torch.float32).min)
    return torch.matmul(F.softmax(scores, dim=-1).to(query.dtype), value)
