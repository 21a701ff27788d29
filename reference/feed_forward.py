"""The networks that a Transformer applies to each position alone."""

from __future__ import annotations

import numpy as np
from veriformer.reference.activations import activate
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import Sizes, as_axes, as_float64
from veriformer.reference.conventions import Activation, GeluForm
from veriformer.reference.weights import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    HasFeedForwardWeights,
    HasGatedFeedForwardWeights,
)


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
    numbers, known = checked_feed_forward(x, weights)
    hidden = activate(activation, numbers @ known.w_1 + _or_zero(known.b_1), gelu_form=gelu_form)
    return np.asarray(hidden @ known.w_2 + _or_zero(known.b_2))


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
    numbers, known = checked_gated_feed_forward(x, weights)
    gate = activate(activation, numbers @ known.w_gate, gelu_form=gelu_form)
    return np.asarray((gate * (numbers @ known.w_up)) @ known.w_down)


def checked_feed_forward(
    x: Float[Array, "*batch E"], weights: HasFeedForwardWeights
) -> tuple[Float64[Array, "*batch E"], FeedForwardWeights]:
    """Return vectors and weights of a feed-forward network in double precision.

    Shapes: x (..., E), weights as in `FeedForwardWeights`, to the same.
    Raises: ValueError when x has no axis, or a weight does not fit.
    Source: Vaswani et al. 2017, section 3.3, equation 2.
    """
    numbers, sizes = _positions(x)
    w_1 = as_axes("w_1", weights.w_1, "E F", sizes)
    b_1 = _bias("b_1", weights.b_1, "F", sizes)
    w_2 = as_axes("w_2", weights.w_2, "F E", sizes)
    return numbers, FeedForwardWeights(w_1, w_2, b_1, _bias("b_2", weights.b_2, "E", sizes))


def checked_gated_feed_forward(
    x: Float[Array, "*batch E"], weights: HasGatedFeedForwardWeights
) -> tuple[Float64[Array, "*batch E"], GatedFeedForwardWeights]:
    """Return vectors and weights of a gated feed-forward network in double precision.

    Shapes: x (..., E), weights as in `GatedFeedForwardWeights`, to the same.
    Raises: ValueError when x has no axis, or a weight does not fit.
    Source: Shazeer 2020, section 2.
    """
    numbers, sizes = _positions(x)
    w_gate = as_axes("w_gate", weights.w_gate, "E F", sizes)
    w_up = as_axes("w_up", weights.w_up, "E F", sizes)
    return numbers, GatedFeedForwardWeights(w_gate, w_up, as_axes("w_down", weights.w_down, "F E", sizes))


def _positions(x: Float[Array, "*batch E"]) -> tuple[Float64[Array, "*batch E"], Sizes]:
    """Return the vectors in double precision and their width; ValueError when there is no last axis."""
    numbers = as_float64("x", x)
    if numbers.ndim == 0:
        raise ValueError("x must have a last axis; got a scalar; pass (..., E)")
    return numbers, {"E": numbers.shape[-1]}


def _bias(name: str, bias: Float[Array, " size"] | None, axis: str, sizes: Sizes) -> Float64[Array, " size"] | None:
    return None if bias is None else as_axes(name, bias, axis, sizes)


def _or_zero(bias: Float64[Array, " size"] | None) -> Float64[Array, " size"] | float:
    return 0.0 if bias is None else bias
