"""The gradient of softmax, which its backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.gradients import backward_of
from veriformer.spec.operations.softmax import SOFTMAX

SOFTMAX_BACKWARD = backward_of(
    SOFTMAX,
    ("x",),
    summary="The gradient of a loss with respect to logits, given that of their softmax.",
    formula="dx = p ∘ (dO − rowsum(p ∘ dO)), p = softmax(x)",
    source="Bridle 1990: the Jacobian of softmax is diag(p) − p pᵀ",
    # What else is kept in which precision on the way back is every kernel's own.
    conventions=("softmax_dtype",),
)

OPERATIONS = (SOFTMAX_BACKWARD,)
