"""Attention in torch that is wrong by a chosen share: in its scale, or in what it lets through its mask."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

Tensor = Any


class FusedAttention:
    """torch's kernel for the CPU. Logits are too large by `scale_error`; a hidden key keeps the share `leak`."""

    framework = "torch"
    dtypes = ("float32", "bfloat16", "float16")
    conventions = {"mask_polarity": "true_attends", "layout": "bhld"}  # noqa: RUF012

    def __init__(self, scale_error: float = 0.0, leak: float = 0.0) -> None:
        self.scale_error = scale_error
        self.leak = leak

    def scaled_dot_product_attention(
        self, query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None, scale: float | None = None
    ) -> Tensor:
        """Average the values, weighted by how well each key matches the query."""
        scale = self.scaled(query, scale)
        if mask is None:
            return functional.scaled_dot_product_attention(query, key, value, scale=scale)
        # The bias of a hidden key is kept in float32 at least, as fused kernels keep their logits.
        kept = torch.promote_types(query.dtype, torch.float32)
        bias = torch.where(mask, 0.0, math.log(self.leak) if self.leak else -math.inf).to(kept)
        wide = (array.to(kept) for array in (query, key, value))
        return functional.scaled_dot_product_attention(*wide, attn_mask=bias, scale=scale).to(query.dtype)

    def scaled(self, query: Tensor, scale: float | None) -> float:
        """Return the scale with its error."""
        right = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
        return right * (1.0 + self.scale_error)


class EagerAttention(FusedAttention):
    """Operation by operation: each result is rounded to the dtype."""

    def scaled_dot_product_attention(
        self, query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None, scale: float | None = None
    ) -> Tensor:
        """Average the values, weighted by how well each key matches the query."""
        logits = query @ key.transpose(-1, -2) * self.scaled(query, scale)
        if mask is not None:
            logits = torch.where(mask, logits, logits + (math.log(self.leak) if self.leak else -math.inf))
        return torch.softmax(logits, dim=-1) @ value
