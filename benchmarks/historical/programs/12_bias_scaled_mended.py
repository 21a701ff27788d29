"""Attention of a decode kernel: keys arrive in chunks, the softmax is kept online."""

import torch

CHUNK = 4


def attention(query, key, value, bias=None):
    scale = query.shape[-1] ** -0.5
    shape = query.shape[:-1]
    highest = query.new_full((*shape, 1), float("-inf"))
    total, out = query.new_zeros((*shape, 1)), query.new_zeros((*shape, value.shape[-1]))
    if bias is not None:
        bias = bias.expand(*shape, key.shape[-2])
    for start in range(0, key.shape[-2], CHUNK):
        k, v = key[:, :, start : start + CHUNK], value[:, :, start : start + CHUNK]
        logits = query @ k.transpose(-1, -2)
        if bias is not None:
            logits = logits + bias[..., start : start + CHUNK] / scale
        logits = logits * scale
        new = torch.maximum(highest, logits.amax(-1, keepdim=True))
        safe = torch.where(new.isinf(), torch.zeros_like(new), new)
        factor, e = (highest - safe).exp(), (logits - safe).exp()
        total, out, highest = total * factor + e.sum(-1, keepdim=True), out * factor + e @ v, new
    return out / torch.where(total == 0, torch.ones_like(total), total)
