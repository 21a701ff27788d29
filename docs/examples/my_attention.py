import torch

framework = "torch"


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False):
    logits = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if is_causal:
        causal = torch.ones(logits.shape[-2:], dtype=torch.bool).tril(diagonal=1)
        mask = causal if mask is None else mask & causal
    if mask is not None:
        logits = logits.masked_fill(~mask, float("-inf"))
    return torch.softmax(logits, dim=-1) @ value
