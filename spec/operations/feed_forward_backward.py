"""The gradients of the networks that are applied to each position alone, which their backward passes return."""

from __future__ import annotations

from veriformer.spec.operations.feed_forward import FEED_FORWARD, GATED_FEED_FORWARD
from veriformer.spec.operations.gradients import backward_of

FEED_FORWARD_BACKWARD = backward_of(
    FEED_FORWARD,
    ("x", "weights"),
    summary="The gradients of a loss with respect to vectors and weights, given that of their feed-forward network.",
    formula="dz = dO W_2ᵀ ⊙ activation′(z), z = x W_1 + b_1; dx = dz W_1ᵀ; "
    "dW_1 = Σ xᵀ dz, db_1 = Σ dz, dW_2 = Σ activation(z)ᵀ dO, db_2 = Σ dO over the vectors",
    source="Vaswani et al. 2017, section 3.3, equation 2, differentiated; the derivation matrices_backward",
)
GATED_FEED_FORWARD_BACKWARD = backward_of(
    GATED_FEED_FORWARD,
    ("x", "weights"),
    summary="The gradients of a loss with respect to vectors and weights, given that of their gated network.",
    formula="dh = dO W_downᵀ, g = x W_gate, u = x W_up; dg = dh ⊙ u ⊙ activation′(g), du = dh ⊙ activation(g); "
    "dx = dg W_gateᵀ + du W_upᵀ; dW_gate = Σ xᵀ dg, dW_up = Σ xᵀ du, dW_down = Σ (activation(g) ⊙ u)ᵀ dO",
    source="Shazeer 2020, section 2, differentiated; the derivation matrices_backward",
)

OPERATIONS = (FEED_FORWARD_BACKWARD, GATED_FEED_FORWARD_BACKWARD)
