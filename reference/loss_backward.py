"""The backward pass of cross entropy."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64, Int
from veriformer.reference.checks import as_axes, as_grad_output
from veriformer.reference.loss import Reduction, kept_targets
from veriformer.reference.softmax import softmax


def cross_entropy_backward(
    logits: Float[Array, "B L N"],
    targets: Int[Array, "B L"],
    grad_output: Float[Array, " "] | Float[Array, "B L"],
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Float64[Array, "B L N"]:
    """Trace the gradient of a loss from the cross entropy back to the logits.

    dz = w (p − y),  p = softmax(z),  y = (1 − ε) one-hot(t) + ε/N
    w = dO / #(t ≠ ignore_index), or dO under reduction "sum", or each target's own dO under "none"

    dz is 0 where t = ignore_index, whatever the logits there are. A class whose logit is −∞ has p = 0.

    Shapes: logits (B, L, N), targets (B, L), and grad_output (), or (B, L) under reduction "none", to (B, L, N).
    Raises: ValueError as `cross_entropy` does, and when grad_output has not the shape of the loss.
    Source: Goodfellow, Bengio & Courville 2016, section 6.2.2.3; Szegedy et al. 2016, section 7 (smoothing).
    Conventions: none. Liger-Kernel and Apex write it by hand, and the former writes it over the logits.
    """
    numbers = as_axes("logits", logits, "B L N", {})
    kept, classes = kept_targets(
        numbers, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction
    )
    gradient = as_grad_output(grad_output, classes.shape if reduction == "none" else ())
    factor = gradient / kept.sum() if reduction == "mean" else gradient
    share = label_smoothing / numbers.shape[-1]
    wanted = (1.0 - label_smoothing) * (np.arange(numbers.shape[-1]) == classes[kept][:, None]) + share
    result = np.zeros(numbers.shape)
    result[kept] = np.broadcast_to(factor, classes.shape)[kept][:, None] * (softmax(numbers[kept]) - wanted)
    return result
