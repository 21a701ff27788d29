"""The backward passes of the networks that a Transformer applies to each position alone."""

from __future__ import annotations

import numpy as np
from veriformer.reference.activations import activate
from veriformer.reference.activations_backward import activate_backward
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_grad_output
from veriformer.reference.conventions import Activation, GeluForm
from veriformer.reference.feed_forward import checked_feed_forward, checked_gated_feed_forward
from veriformer.reference.weights import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    HasFeedForwardWeights,
    HasGatedFeedForwardWeights,
)


def feed_forward_backward(
    x: Float[Array, "*batch E"],
    weights: HasFeedForwardWeights,
    grad_output: Float[Array, "*batch E"],
    *,
    activation: Activation,
    gelu_form: GeluForm = "erf",
) -> tuple[Float64[Array, "*batch E"], FeedForwardWeights]:
    """Trace the gradient of a loss from a feed-forward network back to its vectors and weights.

    dz = dO W_2ᵀ ⊙ activation′(z),  z = x W_1 + b_1,  h = activation(z)
    dx = dz W_1ᵀ
    dW_1 = Σ xᵀ dz,  db_1 = Σ dz,  dW_2 = Σ hᵀ dO,  db_2 = Σ dO, over all vectors

    Shapes: x and grad_output (..., E), weights as in `FeedForwardWeights`, to (..., E) and a record of the weights'
    shapes, None where there is no bias.
    Raises: ValueError as `feed_forward` does, and when grad_output has not the shape of x.
    Source: Vaswani et al. 2017, section 3.3, equation 2, differentiated.
    Conventions: gelu_form, for "gelu". ReLU has the derivative 0 at 0, as in PyTorch and jax.nn; jnp.maximum has 1/2.
    """
    numbers, known = checked_feed_forward(x, weights)
    gradient = as_grad_output(grad_output, numbers.shape)
    inner = numbers @ known.w_1 + (0.0 if known.b_1 is None else known.b_1)
    hidden = activate(activation, inner, gelu_form=gelu_form)
    grad_inner = activate_backward(activation, inner, np.asarray(gradient @ known.w_2.T), gelu_form=gelu_form)
    return np.asarray(grad_inner @ known.w_1.T), FeedForwardWeights(
        w_1=matrix_gradient(numbers, grad_inner),
        w_2=matrix_gradient(hidden, gradient),
        b_1=None if known.b_1 is None else bias_gradient(grad_inner),
        b_2=None if known.b_2 is None else bias_gradient(gradient),
    )


def gated_feed_forward_backward(
    x: Float[Array, "*batch E"],
    weights: HasGatedFeedForwardWeights,
    grad_output: Float[Array, "*batch E"],
    *,
    activation: Activation,
    gelu_form: GeluForm = "erf",
) -> tuple[Float64[Array, "*batch E"], GatedFeedForwardWeights]:
    """Trace the gradient of a loss from a gated feed-forward network back to its vectors and weights.

    dh = dO W_downᵀ,  g = x W_gate,  a = activation(g),  u = x W_up
    dg = dh ⊙ u ⊙ activation′(g),  du = dh ⊙ a
    dx = dg W_gateᵀ + du W_upᵀ
    dW_gate = Σ xᵀ dg,  dW_up = Σ xᵀ du,  dW_down = Σ (a ⊙ u)ᵀ dO, over all vectors

    Shapes: x and grad_output (..., E), weights as in `GatedFeedForwardWeights`, to (..., E) and a record of the
    weights' shapes.
    Raises: ValueError as `gated_feed_forward` does, and when grad_output has not the shape of x.
    Source: Shazeer 2020, section 2, differentiated.
    Conventions: gelu_form, for "gelu". ReLU has the derivative 0 at 0, as in PyTorch and jax.nn; jnp.maximum has 1/2.
    """
    numbers, known = checked_gated_feed_forward(x, weights)
    gradient = as_grad_output(grad_output, numbers.shape)
    gate, up = numbers @ known.w_gate, numbers @ known.w_up
    activated = activate(activation, gate, gelu_form=gelu_form)
    grad_hidden = gradient @ known.w_down.T
    grad_gate = activate_backward(activation, gate, np.asarray(grad_hidden * up), gelu_form=gelu_form)
    grad_up = np.asarray(grad_hidden * activated)
    return np.asarray(grad_gate @ known.w_gate.T + grad_up @ known.w_up.T), GatedFeedForwardWeights(
        w_gate=matrix_gradient(numbers, grad_gate),
        w_up=matrix_gradient(numbers, grad_up),
        w_down=matrix_gradient(np.asarray(activated * up), gradient),
    )


def matrix_gradient(x: Float64[Array, "*batch n"], gradient: Float64[Array, "*batch m"]) -> Float64[Array, "n m"]:
    """Return the gradient of W in y = x W, the sum of xᵀ dy over all vectors.

    Shapes: x (..., n), gradient (..., m) to (n, m).
    Raises: nothing.
    Source: the derivative of a product.
    """
    return np.asarray(x.reshape(-1, x.shape[-1]).T @ gradient.reshape(-1, gradient.shape[-1]))


def bias_gradient(gradient: Float64[Array, "*batch m"]) -> Float64[Array, " m"]:
    """Return the gradient of b in y = x W + b, the sum of dy over all vectors.

    Shapes: gradient (..., m) to (m,).
    Raises: nothing.
    Source: the derivative of a sum.
    """
    return np.asarray(gradient.reshape(-1, gradient.shape[-1]).sum(axis=0))
