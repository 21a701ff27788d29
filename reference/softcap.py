"""Soft caps of logits."""

from __future__ import annotations

import math

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_float64


def soft_cap(logits: Float[Array, "*shape"], softcap: float | None) -> Float64[Array, "*shape"]:
    """Squeeze logits smoothly between −c and c.

    capped = c tanh(logit / c); None and 0 leave the logits as they are

    Shapes: (...) to (...).
    Raises: ValueError when softcap is negative or not finite, or the logits are not real numbers.
    Source: Gemma Team 2024 (Gemma 2), section 2; Bello et al. 2016, section 4 (tanh clipping).
    Conventions: softcap_order. In attention it is applied to the scaled logits, before bias and mask.
    """
    numbers = as_float64("logits", logits)
    if softcap is None or softcap == 0:
        return numbers
    if not (math.isfinite(softcap) and softcap > 0):
        raise ValueError(
            f"softcap must be positive and finite, or None or 0 for none; got {softcap}; pass one of these"
        )
    return np.asarray(softcap * np.tanh(numbers / softcap))
