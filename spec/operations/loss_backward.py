"""The gradient of the training loss, which its backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.gradients import backward_of
from veriformer.spec.operations.loss import CROSS_ENTROPY

CROSS_ENTROPY_BACKWARD = backward_of(
    CROSS_ENTROPY,
    ("logits",),
    summary="The gradient of a loss with respect to logits, given that of their cross entropy.",
    formula="dz = w (softmax(z) − y), y = (1 − ε) one-hot(target) + ε/N, 0 at ignored targets;"
    " w = dO / number of kept targets, dO under reduction sum, the target's own dO under none",
    source="Goodfellow, Bengio & Courville 2016, section 6.2.2.3; Szegedy et al. 2016, section 7 (smoothing)",
)

OPERATIONS = (CROSS_ENTROPY_BACKWARD,)
