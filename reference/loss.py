"""The loss of a language model."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64, Int
from veriformer.reference.checks import as_axes
from veriformer.reference.softmax import log_sum_exp


def cross_entropy(
    logits: Float[Array, "B L N"],
    targets: Int[Array, "B L"],
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
) -> Float64[Array, " "]:
    """Average how improbable the model found the tokens that came, over the targets that are not ignored.

    ℓ = lse(z) − Σ_k y_k z_k,  y = (1 − ε) one-hot(t) + ε/N,  lse(z) = ln Σ_k e^(z_k)
    loss = Σ_(t ≠ ignore_index) ℓ / #(t ≠ ignore_index)

    ℓ = −Σ_k y_k ln softmax(z)_k because Σ_k y_k = 1. An ignored target need not be a class.

    Shapes: logits (B, L, N), targets (B, L) to a number, ().
    Raises: ValueError when the shapes differ, a kept target is no class, none is kept, or ε lies outside [0, 1].
    Source: Goodfellow, Bengio & Courville 2016, section 6.2.2.3; Szegedy et al. 2016, section 7 (smoothing).
    Conventions: none. The target has its own part of ε, as in torch and keras; fairseq spreads ε over the N − 1
    other classes.
    """
    sizes: dict[str, int] = {}
    numbers = as_axes("logits", logits, "B L N", sizes)
    classes = _as_targets(targets, numbers.shape)
    _require_fraction(label_smoothing)
    kept = np.ones(classes.shape, dtype=bool) if ignore_index is None else classes != ignore_index
    _require_classes(classes[kept], sizes["N"])
    # Selected first, so that nothing at an ignored target reaches the sum.
    shown = numbers[kept]
    at_target = np.take_along_axis(shown, classes[kept][:, None], axis=-1)[:, 0]
    normaliser = log_sum_exp(shown)
    surprise, spread = normaliser - at_target, (normaliser[:, None] - shown).mean(axis=-1)
    return np.asarray(np.mean((1.0 - label_smoothing) * surprise + label_smoothing * spread))


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


def _require_classes(kept: Int[Array, " n"], count: int) -> None:
    if kept.size == 0:
        raise ValueError("at least one target must be kept; got none; a mean over nothing has no value")
    wrong = kept[(kept < 0) | (kept >= count)]
    if wrong.size:
        raise ValueError(
            f"targets must be classes 0 to {count - 1}; got {int(wrong[0])}; "
            "pass it as ignore_index if it stands for padding"
        )
