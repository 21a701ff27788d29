"""Normalisation of each vector."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_axes, as_float64, require_choice
from veriformer.reference.conventions import EpsPlacement


def layer_norm(
    x: Float[Array, "*batch E"],
    gamma: Float[Array, " E"],
    beta: Float[Array, " E"],
    *,
    eps: float,
    eps_placement: EpsPlacement = "inside_root",
) -> Float64[Array, "*batch E"]:
    """Bring each vector to zero mean and unit variance, then scale it by gamma and shift it by beta.

    y = (x − μ) / √(σ² + eps) · gamma + beta,  μ = mean(x),  σ² = mean((x − μ)²)          "inside_root"
    y = (x − μ) / (√σ² + eps) · gamma + beta                                              "outside_root"

    The variance is the biased one, over E and not E − 1, and is taken of the centred vector: mean(x²) − μ² loses all
    digits when |μ| is large beside σ.

    Shapes: x (..., E), gamma (E,), beta (E,) to (..., E).
    Raises: ValueError when the widths differ or are 0, eps is negative or not finite, or eps_placement is unknown.
    Source: Ba, Kiros & Hinton 2016, section 3 (eps is an implementation's addition).
    Conventions: layer_norm_eps. Inside the root in torch, jax, flax, keras and ONNX; no maintained library is
    known to add it outside.
    """
    require_choice("eps_placement", eps_placement, EpsPlacement)
    if not (np.isfinite(eps) and eps >= 0):
        raise ValueError(f"eps must be finite and not negative; got {eps}; pass a small number such as 1e-5")
    numbers = as_float64("x", x)
    if numbers.ndim == 0 or numbers.shape[-1] == 0:
        raise ValueError(f"x must have a last axis of at least one component; got shape {numbers.shape}; pass (..., E)")
    sizes = {"E": numbers.shape[-1]}
    gain, shift = as_axes("gamma", gamma, "E", sizes), as_axes("beta", beta, "E", sizes)
    centred = numbers - numbers.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    divisor = np.sqrt(variance + eps) if eps_placement == "inside_root" else np.sqrt(variance) + eps
    return np.asarray(centred / divisor * gain + shift)
