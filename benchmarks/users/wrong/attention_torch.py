"""Attention as people write it; the logits are divided by d instead of √d."""

from __future__ import annotations

from typing import Any

import torch


def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """Average the values, weighted by how well each key matches the query."""
    scores = q @ k.transpose(-2, -1) / k.shape[-1]
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return torch.softmax(scores, dim=-1) @ v
