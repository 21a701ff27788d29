"""The backward pass of merging two parts of an attention, written by hand in NumPy."""

import numpy as np

framework = "numpy"


def merge_attention_backward(output_a, lse_a, output_b, lse_b, grad_output, grad_lse):
    highest = np.maximum(lse_a, lse_b)
    # Two parts without keys have −∞ each; any finite number will do.
    highest = np.where(np.isneginf(highest), 0.0, highest)
    exponential_a, exponential_b = np.exp(lse_a - highest), np.exp(lse_b - highest)
    total = exponential_a + exponential_b
    total = np.where(total == 0.0, 1.0, total)
    weight_a, weight_b = exponential_a / total, exponential_b / total
    apart = (grad_output * (output_a - output_b)).sum(axis=-1)
    grad_output_a = weight_a[..., None] * grad_output
    grad_output_b = weight_b[..., None] * grad_output
    grad_lse_a = weight_a * weight_b * apart + weight_a * grad_lse
    grad_lse_b = weight_b * grad_lse - weight_a * weight_b * apart
    return grad_output_a, grad_lse_a, grad_output_b, grad_lse_b
