"""The backward passes of the activation functions."""

from __future__ import annotations

import math

import numpy as np
from veriformer.reference.activations import (
    SIGMOID_SLOPE,
    TANH_CUBIC,
    TANH_SLOPE,
    logistic,
    normal_distribution,
)
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_float64, as_grad_output, require_choice
from veriformer.reference.conventions import Activation, GeluForm


def gelu_backward(
    x: Float[Array, "*shape"], grad_output: Float[Array, "*shape"], form: GeluForm = "erf"
) -> Float64[Array, "*shape"]:
    """Trace the gradient of a loss from the result of GELU back to its entries.

    dx = dO (Φ(x) + x φ(x)),  φ(x) = e^(−x²/2) / √(2π)                                    "erf"
    dx = dO (g + x g (1 − g) z′),  g = σ(z),  z = 2 √(2/π) (x + 0.044715 x³)              "tanh"
    dx = dO (g + x g (1 − g) z′),  g = σ(z),  z = 1.702 x                                 "sigmoid"

    Each is the derivative of the form of the same name. 1 − g is written as σ(−z), which keeps its digits.

    Shapes: x and grad_output of any shape, to the same.
    Raises: ValueError as `gelu` does, and when grad_output has not the shape of x.
    Source: Hendrycks & Gimpel 2016, section 2, and the product rule.
    Conventions: gelu_form, see `gelu`. The derivatives of two forms differ by more than the forms do: erf and tanh by
    up to 8.7e-4, erf and sigmoid by up to 2.9e-2.
    """
    require_choice("form", form, GeluForm)
    numbers = as_float64("x", x)
    gradient = as_grad_output(grad_output, numbers.shape)
    if form == "erf":
        density = np.exp(-0.5 * np.square(np.minimum(np.abs(numbers), _FAR))) / math.sqrt(2.0 * math.pi)
        return np.asarray(gradient * (normal_distribution(numbers) + numbers * density))
    if form == "sigmoid":
        with np.errstate(over="ignore"):
            argument = np.asarray(SIGMOID_SLOPE * numbers)
        return _logistic_back(numbers, argument, SIGMOID_SLOPE, gradient)
    # Beyond that the gate is 0 or 1 in double precision, and x³ may be infinite.
    near = np.asarray(np.clip(numbers, -_FAR, _FAR))
    square = TANH_CUBIC * np.square(near)
    argument = np.asarray(2.0 * TANH_SLOPE * near * (1.0 + square))
    return _logistic_back(near, argument, np.asarray(2.0 * TANH_SLOPE * (1.0 + 3.0 * square)), gradient)


def silu_backward(x: Float[Array, "*shape"], grad_output: Float[Array, "*shape"]) -> Float64[Array, "*shape"]:
    """Trace the gradient of a loss from the result of SiLU back to its entries.

    dx = dO (g + x g (1 − g)),  g = σ(x)

    Shapes: x and grad_output of any shape, to the same.
    Raises: ValueError as `silu` does, and when grad_output has not the shape of x.
    Source: Hendrycks & Gimpel 2016, section 2, and the product rule.
    """
    numbers = as_float64("x", x)
    return _logistic_back(numbers, numbers, 1.0, as_grad_output(grad_output, numbers.shape))


def activate_backward(
    activation: Activation,
    x: Float[Array, "*shape"],
    grad_output: Float[Array, "*shape"],
    *,
    gelu_form: GeluForm = "erf",
) -> Float64[Array, "*shape"]:
    """Trace the gradient of a loss back through the activation function of that name: "relu", "gelu" or "silu".

    dx = dO · 1[x > 0] for "relu"; for the others see `gelu_backward` and `silu_backward`

    Shapes: x and grad_output of any shape, to the same.
    Raises: ValueError as `activate` does, and when grad_output has not the shape of x.
    Source: Vaswani et al. 2017, section 3.3 (ReLU); Hendrycks & Gimpel 2016 (the others).
    Conventions: gelu_form, for "gelu". ReLU has the derivative 0 at 0, as in PyTorch and jax.nn; jnp.maximum has 1/2.
    """
    require_choice("activation", activation, Activation)
    if activation == "gelu":
        return gelu_backward(x, grad_output, gelu_form)
    if activation == "silu":
        return silu_backward(x, grad_output)
    numbers = as_float64("x", x)
    return np.asarray(np.where(numbers > 0.0, as_grad_output(grad_output, numbers.shape), 0.0))


_FAR = 1.0e4


def _logistic_back(
    x: Float64[Array, "*shape"],
    argument: Float64[Array, "*shape"],
    slope: float | Float64[Array, "*shape"],
    gradient: Float64[Array, "*shape"],
) -> Float64[Array, "*shape"]:
    """Return the gradient of x σ(z) from z and its derivative z′ by x."""
    gate, rest = logistic(argument), logistic(np.asarray(-argument))
    # Far from zero the product of the gates is 0, so that it comes first: x z′ may be infinite.
    return np.asarray(gradient * (gate + gate * rest * x * slope))
