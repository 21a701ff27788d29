"""The gradient of dropout, which its backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.dropout import DROPOUT, SOURCE
from veriformer.spec.operations.gradients import backward_of

DROPOUT_BACKWARD = backward_of(
    DROPOUT,
    ("x",),
    summary="The gradient of a loss with respect to entries, given that of what dropout left of them.",
    formula="dx = dO m / (1 − p), m the mask of the forward pass with this seed; dO in evaluation",
    source=SOURCE,
)

OPERATIONS = (DROPOUT_BACKWARD,)
