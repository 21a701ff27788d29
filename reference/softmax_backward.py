"""The backward pass of softmax."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import as_grad_output
from veriformer.reference.softmax import softmax


def softmax_backward(x: Float[Array, "*rows n"], grad_output: Float[Array, "*rows n"]) -> Float64[Array, "*rows n"]:
    """Trace the gradient of a loss from the weights of a softmax back to its logits.

    dx_j = p_j (dO_j − Σ_l p_l dO_l),  p = softmax(x)

    A logit of −∞ has the weight 0 and no gradient, whatever the gradient of its weight is.

    Shapes: x and grad_output (..., n) to (..., n).
    Raises: ValueError as `softmax` does, and when grad_output has not the shape of x.
    Source: Bridle 1990: the Jacobian of softmax is diag(p) − p pᵀ.
    Conventions: softmax_dtype, see `softmax`. Libraries that write it by hand mostly keep p instead of x:
    torch's _softmax_backward_data and Liger-Kernel take the output.
    """
    weights = softmax(x)
    gradient = as_grad_output(grad_output, weights.shape)
    average = np.sum(weights * gradient, axis=-1, keepdims=True)
    return np.asarray(weights * (gradient - average))
