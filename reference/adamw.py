"""One step of the optimizer AdamW."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_float64, require_choice, require_count
from veriformer.reference.conventions import AdamWDecay, AdamWEps


def adamw_step(
    parameter: Float[Array, "*shape"],
    gradient: Float[Array, "*shape"],
    first_moment: Float[Array, "*shape"],
    second_moment: Float[Array, "*shape"],
    *,
    step: int,
    learning_rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    eps_placement: AdamWEps = "after_correction",
    decay: AdamWDecay = "times_learning_rate",
) -> tuple[Float64[Array, "*shape"], Float64[Array, "*shape"], Float64[Array, "*shape"]]:
    """Move a parameter against its averaged gradient, measured by how large gradients were, and shrink it.

    m = β₁ m_old + (1 − β₁) g,  v = β₂ v_old + (1 − β₂) g²
    p = p_old (1 − ηλ) − η · m/(1 − β₁ᵗ) / (√(v/(1 − β₂ᵗ)) + ε),  t the number of the step, counted from 1

    Both moments begin at 0, and 1 − βᵗ is the share that t gradients have in such a mean: the correction. The decay ηλ
    does not go through the moments, so that it is the same for all entries.

    Shapes: all four alike, (...), to the new parameter and moments, (...) each.
    Raises: ValueError when shapes differ, the step is below 1, a β lies outside [0, 1), ε is not positive, the learning
    rate or the decay is negative, or a second moment is.
    Source: Loshchilov & Hutter 2019, algorithm 2; Kingma & Ba 2015, algorithm 1.
    Conventions: adamw_eps (Keras and TensorFlow add ε to √v before it is corrected), adamw_decay (the paper multiplies
    λ by the multiplier of a schedule, 1 here, and not by η).
    """
    arrays = {
        "parameter": parameter,
        "gradient": gradient,
        "first_moment": first_moment,
        "second_moment": second_moment,
    }
    old, slope, mean, square = _alike(arrays)
    _require_settings(step, learning_rate, beta1, beta2, eps, weight_decay)
    require_choice("eps_placement", eps_placement, AdamWEps)
    require_choice("decay", decay, AdamWDecay)
    mean = beta1 * mean + (1.0 - beta1) * slope
    square = beta2 * square + (1.0 - beta2) * (slope * slope)
    share, square_share = 1.0 - beta1**step, 1.0 - beta2**step
    if eps_placement == "after_correction":
        size = np.sqrt(square / square_share) + eps
    else:
        size = (np.sqrt(square) + eps) / np.sqrt(square_share)
    kept = 1.0 - (learning_rate if decay == "times_learning_rate" else 1.0) * weight_decay
    return old * kept - learning_rate * (mean / share / size), mean, square


def _alike(arrays: dict[str, Array]) -> list[Float64[Array, "*shape"]]:
    """Return the arrays in double precision; ValueError where a shape differs or a second moment is negative."""
    converted = {name: as_float64(name, array) for name, array in arrays.items()}
    shape = converted["parameter"].shape
    for name, array in converted.items():
        if array.shape != shape:
            raise ValueError(
                f"{name} must have the parameter's shape, {shape}; got {array.shape}; pass one entry for each of the "
                "parameter's"
            )
    if np.any(converted["second_moment"] < 0.0):
        raise ValueError(
            f"second_moment must not be negative; got {converted['second_moment'].min()}; "
            "pass a mean of squares, zeros before the first step"
        )
    return list(converted.values())


def _require_settings(
    step: int, learning_rate: float, beta1: float, beta2: float, eps: float, weight_decay: float
) -> None:
    require_count("step", step, 1)
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"{name} must be at least 0 and below 1; got {beta}; pass a share such as 0.9")
    for name, rate in (("learning_rate", learning_rate), ("weight_decay", weight_decay)):
        if not rate >= 0.0:
            raise ValueError(f"{name} must not be negative; got {rate}; pass a rate such as 0.001")
    if not eps > 0.0:
        raise ValueError(f"eps must be positive; got {eps}; pass a small number such as 1e-8")
