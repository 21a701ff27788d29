"""The networks that a Transformer applies to each position alone."""

from __future__ import annotations

import numpy as np
from veriformer.reference.activations import activate
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import Sizes, as_axes, as_float64
from veriformer.reference.conventions import Activation, GeluForm
from veriformer.reference.weights import HasFeedForwardWeights, HasGatedFeedForwardWeights


def feed_forward(
    x: Float[Array, "*batch E"],
    weights: HasFeedForwardWeights,
    *,
    activation: Activation,
    gelu_form: GeluForm = "erf",
) -> Float64[Array, "*batch E"]:
    """Pass each position through two matrices with an activation in between.

    y = activation(x W_1 + b_1) W_2 + b_2

    Shapes: x (..., E), weights as in `FeedForwardWeights`, to (..., E).
    Raises: ValueError when a weight does not fit, or the activation or the form of GELU is unknown.
    Source: Vaswani et al. 2017, section 3.3, equation 2 (with ReLU).
    Conventions: gelu_form, for "gelu". The paper has biases; Llama and T5 have none.
    """
    numbers, sizes = _positions(x)
    w_1 = as_axes("w_1", weights.w_1, "E F", sizes)
    b_1 = _bias("b_1", weights.b_1, "F", sizes)
    w_2 = as_axes("w_2", weights.w_2, "F E", sizes)
    b_2 = _bias("b_2", weights.b_2, "E", sizes)
    hidden = activate(activation, numbers @ w_1 + b_1, gelu_form=gelu_form)
    return np.asarray(hidden @ w_2 + b_2)


def gated_feed_forward(
    x: Float[Array, "*batch E"],
    weights: HasGatedFeedForwardWeights,
    *,
    activation: Activation,
    gelu_form: GeluForm = "erf",
) -> Float64[Array, "*batch E"]:
    """Pass each position through two matrices side by side, the activated one gating the other, and a third.

    y = (activation(x W_gate) ⊙ x W_up) W_down

    Shapes: x (..., E), weights as in `GatedFeedForwardWeights`, to (..., E).
    Raises: ValueError when a weight does not fit, or the activation or the form of GELU is unknown.
    Source: Shazeer 2020, section 2 (ReGLU, GEGLU and SwiGLU by activation).
    Conventions: gelu_form, for "gelu".
    """
    numbers, sizes = _positions(x)
    w_gate = as_axes("w_gate", weights.w_gate, "E F", sizes)
    w_up = as_axes("w_up", weights.w_up, "E F", sizes)
    w_down = as_axes("w_down", weights.w_down, "F E", sizes)
    gate = activate(activation, numbers @ w_gate, gelu_form=gelu_form)
    return np.asarray((gate * (numbers @ w_up)) @ w_down)


def _positions(x: Float[Array, "*batch E"]) -> tuple[Float64[Array, "*batch E"], Sizes]:
    """Return the vectors in double precision and their width; ValueError when there is no last axis."""
    numbers = as_float64("x", x)
    if numbers.ndim == 0:
        raise ValueError("x must have a last axis; got a scalar; pass (..., E)")
    return numbers, {"E": numbers.shape[-1]}


def _bias(name: str, bias: Float[Array, " size"] | None, axis: str, sizes: Sizes) -> Float64[Array, " size"] | float:
    return 0.0 if bias is None else as_axes(name, bias, axis, sizes)
