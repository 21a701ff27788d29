"""RMS norm as people write it; eps is added to the root instead of to the mean of the squares."""

from __future__ import annotations

from typing import Any

import torch


def rmsnorm(x: Any, weight: Any, eps: float = 1e-2) -> Any:
    """Scale each vector to unit root-mean-square, then by the weight."""
    return weight * x / (torch.sqrt(x.pow(2).mean(-1, keepdim=True)) + eps)
