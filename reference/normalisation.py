"""Normalisation of each vector."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_axes, as_float64, require_choice
from veriformer.reference.conventions import EpsPlacement, RmsNormGain


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
    numbers = as_vectors(x, eps)
    sizes = {"E": numbers.shape[-1]}
    gain, shift = as_axes("gamma", gamma, "E", sizes), as_axes("beta", beta, "E", sizes)
    centred = numbers - mean_of_each(numbers)
    variance = mean_of_each(np.square(centred))
    divisor = np.sqrt(variance + eps) if eps_placement == "inside_root" else np.sqrt(variance) + eps
    return np.asarray(centred / divisor * gain + shift)


def rms_norm(
    x: Float[Array, "*batch E"],
    gamma: Float[Array, " E"],
    *,
    eps: float,
    gain: RmsNormGain = "gamma",
) -> Float64[Array, "*batch E"]:
    """Bring each vector to unit root mean square, without centring it, and scale it.

    y = x / √(mean(x²) + eps) · gamma                                                     "gamma"
    y = x / √(mean(x²) + eps) · (1 + gamma)                                               "one_plus_gamma"

    The zero vector stays zero; with eps = 0 it has no direction and becomes NaN.

    Shapes: x (..., E), gamma (E,) to (..., E).
    Raises: ValueError when the widths differ or are 0, eps is negative or not finite, or gain is unknown.
    Source: Zhang & Sennrich 2019, section 4 (eps is an implementation's addition).
    Conventions: rms_norm_gain. torch, jax and Llama store gamma, Gemma gamma − 1.
    """
    require_choice("gain", gain, RmsNormGain)
    numbers = as_vectors(x, eps)
    stored = as_axes("gamma", gamma, "E", {"E": numbers.shape[-1]})
    mean_square = mean_of_each(np.square(numbers))
    with np.errstate(invalid="ignore"):
        normalised = numbers / np.sqrt(mean_square + eps)
    return np.asarray(normalised * (stored if gain == "gamma" else 1.0 + stored))


def mean_of_each(vectors: Float64[Array, "*batch E"]) -> Float64[Array, "*batch 1"]:
    """Return the mean of each vector's components: what `mean` computes, in half its time where vectors are short."""
    return np.asarray(np.add.reduce(vectors, axis=-1, keepdims=True) / vectors.shape[-1])


def as_vectors(x: Float[Array, "*batch E"], eps: float) -> Float64[Array, "*batch E"]:
    """Return the vectors in double precision; ValueError when they have no component or eps is no number to add."""
    if not (np.isfinite(eps) and eps >= 0):
        raise ValueError(f"eps must be finite and not negative; got {eps}; pass a small number such as 1e-5")
    numbers = as_float64("x", x)
    if numbers.ndim == 0 or numbers.shape[-1] == 0:
        raise ValueError(f"x must have a last axis of at least one component; got shape {numbers.shape}; pass (..., E)")
    return numbers
