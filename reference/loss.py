"""The loss of a language model."""

from __future__ import annotations

from typing import Literal

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64, Int
from veriformer.reference.checks import as_axes, require_choice
from veriformer.reference.softmax import log_sum_exp

Reduction = Literal["mean", "sum", "none"]


def cross_entropy(
    logits: Float[Array, "B L N"],
    targets: Int[Array, "B L"],
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Float64[Array, " "] | Float64[Array, "B L"]:
    """Average how improbable the model found the tokens that came, over the targets that are not ignored.

    ℓ = lse(z) − Σ_k y_k z_k,  y = (1 − ε) one-hot(t) + ε/N,  lse(z) = ln Σ_k e^(z_k)
    loss = Σ_(t ≠ ignore_index) ℓ / #(t ≠ ignore_index), or the sum alone, or each ℓ, 0 where t = ignore_index

    ℓ = −Σ_k y_k ln softmax(z)_k because Σ_k y_k = 1. An ignored target need not be a class. A class whose logit is −∞
    has the probability 0: it adds nothing where its weight y_k is 0, and makes the loss +∞ elsewhere.

    Shapes: logits (B, L, N), targets (B, L) to a number, (), and under reduction "none" to (B, L).
    Raises: ValueError when the shapes differ, a kept target is no class, none is kept of which a mean is asked, ε lies
    outside [0, 1], or the reduction is unknown.
    Source: Goodfellow, Bengio & Courville 2016, section 6.2.2.3; Szegedy et al. 2016, section 7 (smoothing).
    Conventions: none. The target has its own part of ε, as in torch and keras; fairseq spreads ε over the N − 1
    other classes.
    """
    numbers = as_axes("logits", logits, "B L N", {})
    kept, classes = kept_targets(
        numbers, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction
    )
    # Selected first, so that no value at an ignored target reaches the sum.
    shown = numbers[kept]
    unit = _unit(shown)
    losses = _losses(shown, classes[kept], label_smoothing, unit)
    with np.errstate(over="ignore"):
        if reduction == "mean":
            return np.asarray(np.mean(losses) / unit)
        if reduction == "sum":
            return np.asarray(np.sum(losses) / unit)
        scattered = np.zeros(classes.shape)
        scattered[kept] = losses / unit
        return scattered


def kept_targets(
    logits: Float64[Array, "B L N"],
    targets: Int[Array, "B L"],
    *,
    ignore_index: int | None,
    label_smoothing: float,
    reduction: Reduction,
) -> tuple[Bool[Array, "B L"], Int[Array, "B L"]]:
    """Return which targets count, and the targets; ValueError as `cross_entropy` says."""
    classes = _as_targets(targets, logits.shape)
    _require_fraction(label_smoothing)
    require_choice("reduction", reduction, Reduction)
    kept = np.ones(classes.shape, dtype=bool) if ignore_index is None else classes != ignore_index
    _require_classes(classes[kept], logits.shape[-1], mean=reduction == "mean")
    return kept, classes


def _unit(logits: Float64[Array, "n N"]) -> float:
    """Return a power of two in which differences and sums of the logits stay below the end of float64's range."""
    largest = np.abs(logits[np.isfinite(logits)]).max(initial=0.0)
    return 2.0**-100 if largest > 2.0**900 else 1.0


def _losses(
    logits: Float64[Array, "n N"], targets: Int[Array, " n"], label_smoothing: float, unit: float
) -> Float64[Array, " n"]:
    """Return the loss of each row, times `unit`; a class of no weight is left out, since 0 · ∞ is no number."""
    normaliser = log_sum_exp(logits) * unit
    surprise = normaliser - np.take_along_axis(logits, targets[:, None], axis=-1)[:, 0] * unit
    if label_smoothing == 0.0:
        return np.asarray(surprise)
    spread = (normaliser[:, None] - logits * unit).mean(axis=-1)
    return np.asarray(
        spread if label_smoothing == 1.0 else (1.0 - label_smoothing) * surprise + label_smoothing * spread
    )


def _as_targets(targets: Int[Array, "B L"], shape: tuple[int, ...]) -> Int[Array, "B L"]:
    array = np.asarray(targets)
    if array.dtype.kind not in "iu" or array.shape != shape[:2]:
        raise ValueError(
            f"targets must be integers of shape (B, L) = {shape[:2]}; got {array.dtype} of shape {array.shape}; "
            "pass one class for each position"
        )
    return array


def _require_fraction(label_smoothing: float) -> None:
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"label_smoothing must lie between 0 and 1; got {label_smoothing}; pass a share such as 0.1")


def _require_classes(kept: Int[Array, " n"], count: int, *, mean: bool) -> None:
    if mean and kept.size == 0:
        raise ValueError("at least one target must be kept; got none; a mean over nothing has no value")
    wrong = kept[(kept < 0) | (kept >= count)]
    if wrong.size:
        raise ValueError(
            f"targets must be classes 0 to {count - 1}; got {int(wrong[0])}; "
            "pass it as ignore_index if it marks padding"
        )
