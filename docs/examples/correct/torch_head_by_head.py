"""A loop over samples and heads on matrices, in PyTorch; empty rows give zeros."""

import torch

framework = "torch"
dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    batch, heads, queries, _ = query.shape
    shape = (batch, heads, queries, key.shape[-2])
    keep = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    keep = keep.tril() if is_causal else keep
    samples = []
    for sample in range(batch):
        outputs = []
        for head in range(heads):
            logits = torch.mm(query[sample, head] * scale, key[sample, head].T)
            if bias is not None:
                logits = logits + bias.expand(shape)[sample, head]
            logits = logits.masked_fill(~keep[sample, head], -torch.inf)
            weights = torch.softmax(logits, dim=1)
            weights = torch.where((logits == -torch.inf).all(dim=1, keepdim=True), 0.0, weights)
            outputs.append(torch.mm(weights, value[sample, head]))
        samples.append(torch.stack(outputs))
    return torch.stack(samples)
