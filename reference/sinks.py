"""Attention sinks: for each head one logit more, which takes weight and has no value."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.checks import as_float64
from veriformer.reference.softmax import masked_softmax


def softmax_beside_sinks(
    logits: Float[Array, "B H L S"], visible: Bool[Array, "B H L S"], sinks: Float[Array, " H"]
) -> Float64[Array, "B H L S"]:
    """Turn the visible logits of each row, and the sink of its head, into weights; that of the sink is dropped.

    w_ij = exp(logit_ij) / (exp(σ_h) + Σ_{j' visible} exp(logit_ij')) where key j is visible to query i, else 0

    The weights of a row sum to less than one. A row without a visible key gives everything to the sink.

    Shapes: logits and visible (B, H, L, S), sinks (H,), to (B, H, L, S).
    Raises: ValueError when shapes do not fit or a sink is not finite.
    Source: OpenAI 2025 (gpt-oss model card), section 2.2; Miller 2023 (softmax plus one: a sink of 0).
    Conventions: a sink is neither scaled nor capped.
    """
    return np.asarray(_all_weights(logits, visible, sinks)[..., :-1])


def weights_of_sinks(
    logits: Float[Array, "B H L S"], visible: Bool[Array, "B H L S"], sinks: Float[Array, " H"]
) -> Float64[Array, "B H L"]:
    """Return the weight that the sink takes from each query.

    w_i = exp(σ_h) / (exp(σ_h) + Σ_{j visible} exp(logit_ij)),  1 in a row without a visible key

    It is not computed as 1 minus the others, which would lose the digits of a faint one.

    Shapes: logits and visible (B, H, L, S), sinks (H,), to (B, H, L).
    Raises: ValueError when shapes do not fit or a sink is not finite.
    Source: OpenAI 2025 (gpt-oss model card), section 2.2.
    """
    return np.asarray(_all_weights(logits, visible, sinks)[..., -1])


def _all_weights(
    logits: Float[Array, "B H L S"], visible: Bool[Array, "B H L S"], sinks: Float[Array, " H"]
) -> Float64[Array, "B H L columns"]:
    column = _as_column(sinks, logits.shape)
    extended = np.concatenate([logits, column], axis=-1)
    return masked_softmax(extended, np.concatenate([visible, np.isfinite(column)], axis=-1))


def _as_column(sinks: Float[Array, " H"], shape: tuple[int, ...]) -> Float64[Array, "B H L 1"]:
    numbers = as_float64("sinks", sinks)
    if numbers.shape != shape[1:2]:
        raise ValueError(
            f"sinks must have one logit for each of {shape[1]} query heads; got shape {numbers.shape}; "
            f"pass shape ({shape[1]},)"
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"sinks must be finite; got {numbers.tolist()}; pass None for no sinks")
    return np.broadcast_to(numbers[:, None, None], (*shape[:-1], 1))
