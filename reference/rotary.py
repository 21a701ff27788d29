"""Rotary position embeddings."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64, Int
from veriformer.reference.checks import Sizes, as_axes, as_integers, require_choice, require_count
from veriformer.reference.conventions import RotaryPairing


def rotary_frequencies(rotary_dim: int, *, base: float = 10000.0) -> Float64[Array, " {rotary_dim}//2"]:
    """Space the frequencies of the pairs geometrically, from 1 towards 1/base.

    θ_k = base^(−2k/r), k = 0, …, r/2 − 1, r = rotary_dim

    Shapes: rotary_dim to (r/2,).
    Raises: ValueError when rotary_dim is not an even integer ≥ 2, or base is not finite and positive.
    Source: Su et al. 2021, section 3.2.2.
    Conventions: Su et al. count the pairs from 1; the frequencies are the same.
    """
    require_count("rotary_dim", rotary_dim, 2)
    if rotary_dim % 2:
        raise ValueError(
            f"rotary_dim must be even, two components for each angle; got {rotary_dim}; use {rotary_dim - 1} "
            "and leave the last component as it is"
        )
    if not (np.isfinite(base) and base > 0):
        raise ValueError(f"base must be finite and positive; got {base}; pass a number such as 10000.0")
    k = np.arange(rotary_dim // 2)
    return np.asarray(float(base) ** (-2.0 * k / rotary_dim))


def rotary_embedding(
    x: Float[Array, "B H L D"],
    positions: Int[Array, " L"] | Int[Array, "B L"],
    *,
    base: float = 10000.0,
    rotary_dim: int | None = None,
    pairing: RotaryPairing = "interleaved",
) -> Float64[Array, "B H L D"]:
    """Turn each pair (a, b) of components by the angle p θ_k, p the row's position.

    y_a = x_a cos pθ_k − x_b sin pθ_k
    y_b = x_b cos pθ_k + x_a sin pθ_k
    a, b = 2k, 2k + 1      "interleaved"
    a, b = k, k + r/2      "half"

    Components from r = rotary_dim on stay as they are; r is D unless given.

    Shapes: x (B, H, L, D), positions (L,) shared by all samples, or (B, L), to (B, H, L, D).
    Raises: ValueError when the shapes do not fit, the positions are no integers, rotary_dim is odd, below 2 or above D,
    base is not finite and positive, or the pairing is unknown.
    Source: Su et al. 2021, section 3.2.2.
    Conventions: rotary_pairing. Interleaved in the paper, GPT-J and torchtune; half in GPT-NeoX and Hugging Face's
    Llama.
    """
    require_choice("pairing", pairing, RotaryPairing)
    sizes: Sizes = {}
    vectors = as_axes("x", x, "B H L D", sizes)
    rows = _as_positions(positions, sizes)
    width = sizes["D"] if rotary_dim is None else rotary_dim
    frequencies = rotary_frequencies(width, base=base)
    if width > sizes["D"]:
        raise ValueError(f"rotary_dim must be at most D = {sizes['D']}; got {width}; pass a smaller one")
    angles = rows[:, None, :, None] * frequencies
    first, second = pair_places(width, pairing)
    cos, sin = np.cos(angles), np.sin(angles)
    turned = vectors.copy()
    turned[..., first] = vectors[..., first] * cos - vectors[..., second] * sin
    turned[..., second] = vectors[..., second] * cos + vectors[..., first] * sin
    return turned


def pair_places(rotary_dim: int, pairing: RotaryPairing) -> tuple[slice, slice]:
    """Return the places of the first and of the second components of the pairs.

    2k and 2k + 1 "interleaved"; k and k + r/2 "half"; k = 0, …, r/2 − 1

    Shapes: rotary_dim to two slices of r/2 places each.
    Raises: ValueError when rotary_dim is not an integer ≥ 2 or the pairing is unknown.
    Source: Su et al. 2021, section 3.2.2 (interleaved).
    Conventions: rotary_pairing.
    """
    require_count("rotary_dim", rotary_dim, 2)
    require_choice("pairing", pairing, RotaryPairing)
    if pairing == "interleaved":
        return slice(0, rotary_dim, 2), slice(1, rotary_dim, 2)
    return slice(0, rotary_dim // 2), slice(rotary_dim // 2, rotary_dim)


def _as_positions(positions: Int[Array, "*rows"], sizes: Sizes) -> Float64[Array, "samples L"]:
    """Return the positions as (B, L), or as (1, L) where all samples share them."""
    numbers = as_integers("positions", positions)
    shared = numbers.ndim == 1
    return as_axes("positions", numbers[None] if shared else numbers, "1 L" if shared else "B L", sizes)
