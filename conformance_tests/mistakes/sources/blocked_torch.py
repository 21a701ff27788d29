"""A correct attention in PyTorch that goes through the keys in blocks; the tests change a line of it."""

import torch

framework = "torch"
conventions = {"causal_alignment": "bottom_right", "empty_row": "zeros"}
# A kernel takes 64 keys or more; with two a short sequence has a whole block and a rest.
BLOCK = 2


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    queries, keys = query.shape[2], key.shape[2]
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    visible = torch.ones(queries, keys, dtype=torch.bool)
    if is_causal:
        visible = visible.tril(keys - queries)
    if mask is not None:
        visible = visible & mask
    highest = query.new_full((*query.shape[:3], 1), float("-inf"))
    total = query.new_zeros((*query.shape[:3], 1))
    output = query.new_zeros((*query.shape[:3], value.shape[3]))
    for start in range(0, keys, BLOCK):
        block = slice(start, min(start + BLOCK, keys))
        logits = query @ key[:, :, block].mT * scale
        logits = logits.masked_fill(~visible[..., block], float("-inf"))
        # What is subtracted cancels: gradients need not flow through it.
        raised = torch.maximum(highest, logits.detach().amax(dim=-1, keepdim=True))
        base = raised.masked_fill(raised.isneginf(), 0.0)
        exponentials, correction = torch.exp(logits - base), torch.exp(highest - base)
        total = total * correction + exponentials.sum(dim=-1, keepdim=True)
        output = output * correction + exponentials @ value[:, :, block]
        highest = raised
    return output / total.masked_fill(total == 0, 1.0)
