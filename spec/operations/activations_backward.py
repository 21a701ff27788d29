"""The gradients of GELU and SiLU, which their backward passes return."""

from __future__ import annotations

from veriformer.spec.operations.activations import GELU, SILU
from veriformer.spec.operations.gradients import backward_of

SOURCE = "Hendrycks & Gimpel 2016, section 2; the product rule"
GELU_BACKWARD = backward_of(
    GELU,
    ("x",),
    summary="The gradient of a loss with respect to entries, given that of their GELU.",
    formula="dx = dO (Φ(x) + x φ(x)), φ the normal density, or the derivative of the form's own gate",
    source=SOURCE,
)
SILU_BACKWARD = backward_of(
    SILU,
    ("x",),
    summary="The gradient of a loss with respect to entries, given that of their SiLU.",
    formula="dx = dO (σ(x) + x σ(x) (1 − σ(x)))",
    source=SOURCE,
)

OPERATIONS = (GELU_BACKWARD, SILU_BACKWARD)
