"""Clipping of gradients by the norm of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_float64, require_choice
from veriformer.reference.conventions import ClipNormEps

# What is added to the norm, by the convention.
NORM_EPS = {"none": 0.0, "1e-6": 1e-6}


def clip_by_global_norm(
    gradients: Sequence[Float[Array, "*_shape"]], *, max_norm: float, norm_eps: ClipNormEps = "none"
) -> list[Float64[Array, "*_shape"]]:
    """Shrink all gradients by one factor where the norm of all of them together exceeds a bound.

    gᵢ · min(1, max_norm / (‖g‖ + ε)),  ‖g‖ = √(Σᵢ Σ gᵢ²),  ε = 0

    One factor for all arrays keeps the direction of the step; gradients within the bound stay as they are.

    Shapes: a list of arrays of any shapes to a list of arrays of the same shapes.
    Raises: ValueError when there is no array, or max_norm is not positive.
    Source: Pascanu, Mikolov & Bengio 2013, section 3.2, algorithm 1.
    Conventions: clip_norm_eps (torch.nn.utils.clip_grad_norm_ adds ε = 1e-6 to the norm).
    """
    require_choice("norm_eps", norm_eps, ClipNormEps)
    arrays = [as_float64(f"gradients[{place}]", array) for place, array in enumerate(gradients)]
    if not arrays:
        raise ValueError("gradients must hold at least one array; got none; pass one for each parameter")
    if not max_norm > 0.0:
        raise ValueError(f"max_norm must be positive; got {max_norm}; pass a bound such as 1.0")
    norm = float(np.sqrt(sum(np.sum(array * array) for array in arrays))) + NORM_EPS[norm_eps]
    # As a quotient by the larger of the two it needs no exception for gradients that are all zero.
    return [np.asarray(array * (max_norm / max(norm, max_norm))) for array in arrays]
