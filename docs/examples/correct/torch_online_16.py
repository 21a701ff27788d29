"""Blocked online softmax in PyTorch, 16 keys at a time, in float32 at least; empty rows give zeros."""

import torch

framework = "torch"
dtypes = ("float64", "float32", "bfloat16", "float16")
BLOCK = 16


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    work = torch.promote_types(query.dtype, torch.float32)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    shape = (*query.shape[:-1], key.shape[-2])
    scaled = query.to(work) * scale
    total = torch.zeros(*shape[:-1], 1, dtype=work)
    highest = torch.full_like(total, -torch.inf)
    output = torch.zeros(*shape[:-1], value.shape[-1], dtype=work)
    positions = torch.arange(shape[-2])[:, None]
    for start in range(0, shape[-1], BLOCK):
        block = slice(start, start + BLOCK)
        logits = scaled @ key[..., block, :].to(work).mT
        if bias is not None:
            logits = logits + bias.expand(shape)[..., block]
        if mask is not None:
            logits = logits.masked_fill(~mask.expand(shape)[..., block], -torch.inf)
        if is_causal:
            logits = logits.masked_fill(torch.arange(shape[-1])[block] > positions, -torch.inf)
        new = torch.maximum(highest, logits.amax(dim=-1, keepdim=True))
        shift = new.masked_fill(new == -torch.inf, 0.0)
        rescale, part = torch.exp(highest - shift), torch.exp(logits - shift)
        total = total * rescale + part.sum(dim=-1, keepdim=True)
        output = output * rescale + part @ value[..., block, :].to(work)
        highest = new
    return (output / total.masked_fill(total == 0, 1.0)).to(query.dtype)
