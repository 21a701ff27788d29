"""The merging of two parts of an attention in PyTorch, which gradients flow back through."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")


def merge_attention(output_a, lse_a, output_b, lse_b):
    empty = torch.maximum(lse_a, lse_b) == float("-inf")
    # Two parts without keys have −∞ each, whose logarithm has a NaN gradient: any finite numbers will do.
    first, second = lse_a.masked_fill(empty, 0.0), lse_b.masked_fill(empty, 0.0)
    lse = torch.logaddexp(first, second)
    weight_a, weight_b = torch.exp(lse_a - lse), torch.exp(lse_b - lse)
    output = weight_a[..., None] * output_a + weight_b[..., None] * output_b
    return output, lse.masked_fill(empty, float("-inf"))
