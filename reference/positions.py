"""Position encodings."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float64
from veriformer.reference.checks import require_choice, require_count
from veriformer.reference.conventions import SinusoidalLayout

BASE = 10000.0


def sinusoidal_frequencies(d_model: int) -> Float64[Array, " {d_model}//2"]:
    """Space the frequencies of the d_model/2 clocks geometrically, from 1 towards 1/10000.

    ω_k = 10000^(−2k/d_model), k = 0, …, d_model/2 − 1

    Shapes: d_model to (d_model/2,).
    Raises: ValueError when d_model is not an even integer ≥ 2.
    Source: Vaswani et al. 2017, section 3.5.
    Conventions: tensor2tensor divides by d_model/2 − 1 instead, so that the last frequency is exactly 1/10000.
    """
    require_count("d_model", d_model, 2)
    if d_model % 2:
        raise ValueError(
            f"d_model must be even, a sine and a cosine for each frequency; got {d_model}; "
            f"use {d_model + 1} and drop a column if an odd width is wanted"
        )
    k = np.arange(d_model // 2)
    return np.asarray(BASE ** (-2.0 * k / d_model))


def sinusoidal_positions(
    length: int, d_model: int, *, layout: SinusoidalLayout = "interleaved"
) -> Float64[Array, "{length} {d_model}"]:
    """Encode each position as the phases of d_model/2 clocks of geometrically spaced frequency.

    PE[p, 2k] = sin(p ω_k), PE[p, 2k + 1] = cos(p ω_k)              "interleaved"
    PE[p, k] = sin(p ω_k), PE[p, d_model/2 + k] = cos(p ω_k)        "concatenated"

    Shapes: length and d_model to (length, d_model); positions count from 0.
    Raises: ValueError when length is not an integer ≥ 0, d_model is not even, or the layout is unknown.
    Source: Vaswani et al. 2017, section 3.5.
    Conventions: sinusoidal_layout. Interleaved in the paper and DistilBERT; concatenated in tensor2tensor, GPT-J
    and Marian.
    """
    require_count("length", length, 0)
    require_choice("layout", layout, SinusoidalLayout)
    angles = np.arange(length)[:, None] * sinusoidal_frequencies(d_model)[None, :]
    if layout == "concatenated":
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model)
