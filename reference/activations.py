"""Activation functions, applied to each entry."""

from __future__ import annotations

import math

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_float64, require_choice
from veriformer.reference.conventions import Activation, GeluForm

TANH_SLOPE = math.sqrt(2.0 / math.pi)
TANH_CUBIC = 0.044715
SIGMOID_SLOPE = 1.702


def relu(x: Float[Array, "*shape"]) -> Float64[Array, "*shape"]:
    """Replace negative entries by zero: max(0, x).

    Shapes: any, to the same.
    Raises: ValueError when x does not hold real numbers.
    Source: Vaswani et al. 2017, section 3.3, equation 2.
    """
    return np.asarray(np.maximum(as_float64("x", x), 0.0))


def silu(x: Float[Array, "*shape"]) -> Float64[Array, "*shape"]:
    """Weigh each entry by its own logistic function.

    x σ(x) = x / (1 + e^(−x))

    For x far below zero e^(−x) is infinite and the quotient −0, which is right.

    Shapes: any, to the same.
    Raises: ValueError when x does not hold real numbers.
    Source: Hendrycks & Gimpel 2016, section 2; Ramachandran et al. 2017 (Swish with β = 1).
    """
    return _logistic_gate(as_float64("x", x), 1.0)


def gelu(x: Float[Array, "*shape"], form: GeluForm = "erf") -> Float64[Array, "*shape"]:
    """Weigh each entry by how probable it is that a standard normal variable lies below it.

    x Φ(x) = x erfc(−x/√2) / 2                                                            "erf"
    x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2                                            "tanh"
    x σ(1.702 x)                                                                          "sigmoid"

    1 + erf(x/√2) is written as erfc(−x/√2), which keeps its digits where the sum cancels; 1 + tanh(t) likewise as
    2 σ(2t).

    Shapes: any, to the same.
    Raises: ValueError when x does not hold real numbers or form is unknown.
    Source: Hendrycks & Gimpel 2016, section 2.
    Conventions: gelu_form. torch, ONNX: erf; jax, flax: tanh; CLIP: sigmoid. erf and tanh differ by up to 4.7e-4.
    """
    require_choice("form", form, GeluForm)
    numbers = as_float64("x", x)
    if form == "sigmoid":
        return _logistic_gate(numbers, SIGMOID_SLOPE)
    if form == "tanh":
        with np.errstate(over="ignore"):
            return _logistic_gate(numbers, 2.0 * TANH_SLOPE * (1.0 + TANH_CUBIC * np.square(numbers)))
    return np.asarray(numbers * normal_distribution(numbers))


def activate(
    activation: Activation, x: Float[Array, "*shape"], *, gelu_form: GeluForm = "erf"
) -> Float64[Array, "*shape"]:
    """Apply the activation function of that name: "relu", "gelu" or "silu".

    Shapes: any, to the same.
    Raises: ValueError when the activation or the form of GELU is unknown, or x does not hold real numbers.
    Source: Vaswani et al. 2017, section 3.3 (ReLU); Hendrycks & Gimpel 2016 (the others).
    Conventions: gelu_form, for "gelu".
    """
    require_choice("activation", activation, Activation)
    require_choice("gelu_form", gelu_form, GeluForm)
    if activation == "gelu":
        return gelu(x, gelu_form)
    return relu(x) if activation == "relu" else silu(x)


def logistic(x: Float64[Array, "*shape"]) -> Float64[Array, "*shape"]:
    """Return the logistic function σ(x) = 1 / (1 + e^(−x)).

    Shapes: any, to the same.
    Raises: nothing.
    Source: Hendrycks & Gimpel 2016, section 2.
    """
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


def normal_distribution(x: Float64[Array, "*shape"]) -> Float64[Array, "*shape"]:
    """Return the distribution function of a standard normal variable, Φ(x) = erfc(−x/√2) / 2.

    Shapes: any, to the same.
    Raises: nothing.
    Source: Hendrycks & Gimpel 2016, section 2.
    """
    return np.asarray(0.5 * _erfc(np.asarray(-x / math.sqrt(2.0))))


def _logistic_gate(x: Float64[Array, "*shape"], slope: float | Float64[Array, "*shape"]) -> Float64[Array, "*shape"]:
    """Return x σ(slope · x)."""
    with np.errstate(over="ignore"):
        return np.asarray(x / (1.0 + np.exp(-slope * x)))


def _erfc(x: Float64[Array, "*shape"]) -> Float64[Array, "*shape"]:
    # NumPy has no error function; the standard library's is correct to the last digits, one number at a time.
    return np.fromiter(map(math.erfc, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)
