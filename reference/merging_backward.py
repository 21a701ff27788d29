"""The backward pass of merging two parts of an attention."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64
from veriformer.reference.checks import Sizes, as_axes
from veriformer.reference.merging import shares_of_parts


def merge_attention_backward(
    output_a: Float[Array, "B H L Dv"],
    lse_a: Float[Array, "B H L"],
    output_b: Float[Array, "B H L Dv"],
    lse_b: Float[Array, "B H L"],
    grad_output: Float[Array, "B H L Dv"],
    grad_lse: Float[Array, "B H L"],
) -> tuple[Float64[Array, "B H L Dv"], Float64[Array, "B H L"], Float64[Array, "B H L Dv"], Float64[Array, "B H L"]]:
    """Trace the gradients of a loss from a merged output and log-sum-exp back to both parts.

    w_a = e^(lse_a − lse),  w_b = e^(lse_b − lse),  x = Σ_e dO_e (output_a − output_b)_e
    d output_a = w_a dO,  d lse_a = w_a w_b x + w_a d lse,  d output_b = w_b dO,  d lse_b = −w_a w_b x + w_b d lse

    A part without keys has the weight 0 and no gradient; two such parts merge to a constant, so that neither has one.

    Shapes: outputs and grad_output (B, H, L, Dv), logarithms and grad_lse (B, H, L); to (B, H, L, Dv), (B, H, L),
    (B, H, L, Dv), (B, H, L).
    Raises: ValueError when shapes do not fit.
    Source: the chain rule, for Milakov & Gimelshein 2018, section 3.1.
    Conventions: the natural logarithm; layout. Kernels that return the log-sum-exp of attention often take no gradient
    of it, or leave it out.
    """
    sizes: Sizes = {}
    output_a = as_axes("output_a", output_a, "B H L Dv", sizes)
    lse_a = as_axes("lse_a", lse_a, "B H L", sizes)
    output_b = as_axes("output_b", output_b, "B H L Dv", sizes)
    lse_b = as_axes("lse_b", lse_b, "B H L", sizes)
    grad_output = as_axes("grad_output", grad_output, "B H L Dv", sizes)
    grad_lse = as_axes("grad_lse", grad_lse, "B H L", sizes)
    _, _, share_a, share_b = shares_of_parts(lse_a, lse_b)
    turned = share_a * share_b * np.sum(grad_output * (output_a - output_b), axis=-1)
    return (
        share_a[..., None] * grad_output,
        np.asarray(turned + share_a * grad_lse),
        share_b[..., None] * grad_output,
        np.asarray(share_b * grad_lse - turned),
    )
