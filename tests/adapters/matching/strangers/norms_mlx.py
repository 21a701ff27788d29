from typing import Optional

import mlx.core as mx
import mlx.nn as nn


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight"""

    def __init__(self, dims: int, eps: float = 1e-5):
        super().__init__()
        self.weight = mx.ones((dims,))
        self.eps = eps

    def __call__(self, x: mx.array) -> mx.array:
        rms = mx.sqrt(mx.mean(x * x, axis=-1, keepdims=True))
        return self.weight * (x / (rms + self.eps))


def layer_norm(x: mx.array, weight: Optional[mx.array] = None, bias: Optional[mx.array] = None, eps: float = 1e-5):
    """Over the last axis."""
    mean = mx.mean(x, axis=-1, keepdims=True)
    var = mx.var(x, axis=-1, keepdims=True)
    y = (x - mean) * mx.rsqrt(var + eps)
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias
