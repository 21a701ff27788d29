"""The backward passes of layer normalisation and of root-mean-square normalisation."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_axes, as_grad_output, require_choice
from veriformer.reference.conventions import EpsPlacement, RmsNormGain
from veriformer.reference.normalisation import as_vectors, mean_of_each


def layer_norm_backward(
    x: Float[Array, "*batch E"],
    gamma: Float[Array, " E"],
    beta: Float[Array, " E"],
    grad_output: Float[Array, "*batch E"],
    *,
    eps: float,
    eps_placement: EpsPlacement = "inside_root",
) -> tuple[Float64[Array, "*batch E"], Float64[Array, " E"], Float64[Array, " E"]]:
    """Trace the gradient of a loss from layer normalisation back to its vectors, gain and shift.

    dx     = (g − mean g − c/t mean(g c/r)) / r,  g = dO · gamma,  c = x − μ,  σ² = mean c²
    dgamma = Σ dO c/r,  dbeta = Σ dO, over all vectors

    r = t = √(σ² + eps)                                                                   "inside_root"
    r = σ + eps,  t = σ                                                                   "outside_root"

    The first two projections remove what a shift of the vector, and nearly what its scale, would change. A vector of
    equal components has c = 0: its gradient is (g − mean g) / r, even where t is 0.

    Shapes: x and grad_output (..., E), gamma and beta (E,) to (..., E), (E,), (E,).
    Raises: ValueError as `layer_norm` does, and when grad_output has not the shape of x.
    Source: Ba, Kiros & Hinton 2016, section 3, differentiated.
    Conventions: layer_norm_eps, see `layer_norm`.
    """
    require_choice("eps_placement", eps_placement, EpsPlacement)
    numbers = as_vectors(x, eps)
    sizes = {"E": numbers.shape[-1]}
    gain, _ = as_axes("gamma", gamma, "E", sizes), as_axes("beta", beta, "E", sizes)
    gradient = as_grad_output(grad_output, numbers.shape)
    centred = numbers - mean_of_each(numbers)
    variance = mean_of_each(np.square(centred))
    inside = eps_placement == "inside_root"
    divisor = np.sqrt(variance + eps) if inside else np.sqrt(variance) + eps
    normalised, scaled = centred / divisor, gradient * gain
    # Where the variance is 0 so is the centred vector.
    direction = normalised if inside else centred / np.where(variance == 0.0, 1.0, np.sqrt(variance))
    along = direction * mean_of_each(scaled * normalised)
    grad_x = (scaled - mean_of_each(scaled) - along) / divisor
    grad_gain = _over_vectors(gradient * normalised)
    return np.asarray(grad_x), grad_gain, _over_vectors(gradient)


def rms_norm_backward(
    x: Float[Array, "*batch E"],
    gamma: Float[Array, " E"],
    grad_output: Float[Array, "*batch E"],
    *,
    eps: float,
    gain: RmsNormGain = "gamma",
) -> tuple[Float64[Array, "*batch E"], Float64[Array, " E"]]:
    """Trace the gradient of a loss from root-mean-square normalisation back to its vectors and gain.

    dx     = (g − x mean(g x) / r²) / r,  r = √(mean x² + eps)
    dgamma = Σ dO x / r, over all vectors

    g = dO · gamma                                                                        "gamma"
    g = dO · (1 + gamma)                                                                  "one_plus_gamma"

    The projection removes nearly what the scale of the vector would change. The gain as it is stored has the same
    gradient under both conventions. With eps = 0 the zero vector has no direction, and its gradient is NaN.

    Shapes: x and grad_output (..., E), gamma (E,) to (..., E), (E,).
    Raises: ValueError as `rms_norm` does, and when grad_output has not the shape of x.
    Source: Zhang & Sennrich 2019, section 4, differentiated.
    Conventions: rms_norm_gain, see `rms_norm`.
    """
    require_choice("gain", gain, RmsNormGain)
    numbers = as_vectors(x, eps)
    stored = as_axes("gamma", gamma, "E", {"E": numbers.shape[-1]})
    gradient = as_grad_output(grad_output, numbers.shape)
    divisor = np.sqrt(mean_of_each(np.square(numbers)) + eps)
    scaled = gradient * (stored if gain == "gamma" else 1.0 + stored)
    with np.errstate(invalid="ignore", divide="ignore"):
        normalised = numbers / divisor
        along = mean_of_each(scaled * normalised)
        grad_x = (scaled - normalised * along) / divisor
    return np.asarray(grad_x), _over_vectors(gradient * normalised)


def _over_vectors(of: Float64[Array, "*batch E"]) -> Float64[Array, " E"]:
    """Return the sum over all vectors, component by component: each of them uses the gain and the shift."""
    return np.asarray(of.reshape(-1, of.shape[-1]).sum(axis=0))
