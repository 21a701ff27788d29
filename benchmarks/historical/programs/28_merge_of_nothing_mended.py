"""Merging attention over two sets of keys by the logarithms of their normalisers."""

import torch


@torch.no_grad()
def merge_attention(output_a, lse_a, output_b, lse_b):
    """outputs: (batch, heads, length, width); lse: (batch, heads, length)."""
    highest = torch.maximum(lse_a, lse_b)
    highest = torch.where(torch.isinf(highest), torch.zeros_like(highest), highest)
    a, b = torch.exp(lse_a - highest), torch.exp(lse_b - highest)
    total = a + b
    scale = 1 / torch.where(total == 0, torch.ones_like(total), total)
    output = output_a * (a * scale).unsqueeze(-1) + output_b * (b * scale).unsqueeze(-1)
    return output, torch.log(total) + highest
