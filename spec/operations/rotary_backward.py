"""The gradient of vectors that rotary positions turn, which the backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.gradients import backward_of
from veriformer.spec.operations.rotary import ROTARY_EMBEDDING

ROTARY_EMBEDDING_BACKWARD = backward_of(
    ROTARY_EMBEDDING,
    ("x",),
    summary="The gradient of a loss with respect to queries or keys, given that of the turned ones.",
    formula="(dx_a, dx_b) = (dO_a cos pθ_k + dO_b sin pθ_k, dO_b cos pθ_k − dO_a sin pθ_k), θ_k = base^(−2k/r),"
    " the k-th pair (a, b) = (2k, 2k + 1) interleaved, or (k, k + r/2) half",
    source="Su et al. 2021, section 3.2.2: the transpose of a rotation matrix is the rotation back",
)

OPERATIONS = (ROTARY_EMBEDDING_BACKWARD,)
