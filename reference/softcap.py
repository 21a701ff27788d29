"""Soft caps of logits."""

from __future__ import annotations

import math
from typing import TypeGuard

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
    if not _is_cap(softcap):
        return numbers
    return np.asarray(softcap * np.tanh(numbers / softcap))


def soft_cap_slope(logits: Float[Array, "*shape"], softcap: float | None) -> Float64[Array, "*shape"]:
    """Return how much of a gradient passes a soft cap: its derivative at each logit.

    slope = 1 − tanh²(logit / c), computed as 1 / cosh²; 1 for None and 0

    Shapes: (...) to (...).
    Raises: ValueError as `soft_cap` does.
    Source: the derivative of c tanh(z / c).
    """
    numbers = as_float64("logits", logits)
    if not _is_cap(softcap):
        return np.ones_like(numbers)
    # Of logits far beyond the cap cosh overflows, and 0 is right.
    with np.errstate(over="ignore"):
        return np.asarray(np.cosh(numbers / softcap) ** -2.0)


def _is_cap(softcap: float | None) -> TypeGuard[float]:
    """Return whether there is a soft cap; ValueError when it is negative or not finite."""
    if softcap is None or softcap == 0:
        return False
    if not (math.isfinite(softcap) and softcap > 0):
        raise ValueError(
            f"softcap must be positive and finite, or None or 0 for none; got {softcap}; pass one of these"
        )
    return True
