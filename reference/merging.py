"""Attention over a part of the keys, and the merging of two such parts: the online softmax."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.attention import weighted_sum
from veriformer.reference.checks import Sizes, as_axes


def attention_over_part(
    logits: Float[Array, "B H L S"], visible: Bool[Array, "B H L S"], value: Float[Array, "B H S Dv"]
) -> tuple[Float64[Array, "B H L Dv"], Float64[Array, "B H L"]]:
    """Average the values of some of the keys, and say how much weight those keys have together.

    output_i = Σ_{j visible} e^(z_ij − lse_i) v_j,  lse_i = ln Σ_{j visible} e^(z_ij)

    A row without a visible key has the output 0 and the logarithm −∞.

    Shapes: logits and visible (B, H, L, S), value (B, H, S, Dv), to (B, H, L, Dv) and (B, H, L).
    Raises: ValueError when shapes do not fit.
    Source: Dao et al. 2022, section 3.1.
    Conventions: the natural logarithm; some kernels return the one of base 2.
    """
    sizes: Sizes = {}
    logits = as_axes("logits", logits, "B H L S", sizes)
    value = as_axes("value", value, "B H S Dv", sizes)
    shown = np.where(visible, logits, -np.inf)
    highest = _finite(shown.max(axis=-1, keepdims=True, initial=-np.inf))
    exponentials = np.exp(shown - highest)
    total = exponentials.sum(axis=-1, keepdims=True)
    output = weighted_sum(exponentials, value, visible) / np.where(total > 0, total, 1.0)
    with np.errstate(divide="ignore"):
        return output, np.asarray((highest + np.log(total))[..., 0])


def merge_attention(
    output_a: Float[Array, "B H L Dv"],
    lse_a: Float[Array, "B H L"],
    output_b: Float[Array, "B H L Dv"],
    lse_b: Float[Array, "B H L"],
) -> tuple[Float64[Array, "B H L Dv"], Float64[Array, "B H L"]]:
    """Join the attention over two disjoint sets of keys to the attention over all of them.

    m = max(lse_a, lse_b),  w = e^(lse − m) of each part
    output = (w_a output_a + w_b output_b) / (w_a + w_b),  lse = m + ln(w_a + w_b)

    A part without keys has the logarithm −∞ and counts for nothing; two such parts give (0, −∞). A logarithm that is
    NaN or +∞ makes NaN.

    Shapes: outputs (B, H, L, Dv), logarithms (B, H, L), to (B, H, L, Dv) and (B, H, L).
    Raises: ValueError when shapes do not fit.
    Source: Milakov & Gimelshein 2018, section 3.1; Dao et al. 2022, section 3.1.
    Conventions: the natural logarithm; layout.
    """
    sizes: Sizes = {}
    output_a = as_axes("output_a", output_a, "B H L Dv", sizes)
    lse_a = as_axes("lse_a", lse_a, "B H L", sizes)
    output_b = as_axes("output_b", output_b, "B H L Dv", sizes)
    lse_b = as_axes("lse_b", lse_b, "B H L", sizes)
    highest, total, share_a, share_b = shares_of_parts(lse_a, lse_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        return share_a[..., None] * output_a + share_b[..., None] * output_b, np.asarray(highest + np.log(total))


def shares_of_parts(
    lse_a: Float64[Array, "B H L"], lse_b: Float64[Array, "B H L"]
) -> tuple[Float64[Array, "B H L"], Float64[Array, "B H L"], Float64[Array, "B H L"], Float64[Array, "B H L"]]:
    """Return m = max(lse_a, lse_b), the sum of the weights e^(lse − m), and the share of each part in it.

    Both shares are 0, and m is, where neither part has keys.
    """
    # Where both are −∞ any finite shift will do: (−∞) − (−∞) would be NaN.
    highest = _finite(np.maximum(lse_a, lse_b))
    with np.errstate(invalid="ignore"):
        weight_a, weight_b = np.exp(lse_a - highest), np.exp(lse_b - highest)
    total = weight_a + weight_b
    divisor = np.where(total > 0, total, 1.0)
    return highest, total, weight_a / divisor, weight_b / divisor


def _finite(highest: Float64[Array, "*shape"]) -> Float64[Array, "*shape"]:
    return np.asarray(np.where(np.isneginf(highest), 0.0, highest))
