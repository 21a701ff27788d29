"""The gradients of attention's weights, which their backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.attention import ATTENTION_WEIGHTS
from veriformer.spec.operations.gradients import backward_of

ATTENTION_WEIGHTS_BACKWARD = backward_of(
    ATTENTION_WEIGHTS,
    ("query", "key"),
    summary="The gradients of a loss with respect to queries and keys, given that of the weights of attention.",
    formula="dS = P ∘ (dO − rowsum(P ∘ dO)), dQ = scale · dS K, dK = scale · dSᵀ Q, P the weights of the forward pass;"
    " with a soft cap dS is multiplied by its slope 1 − tanh²(scale · Q Kᵀ / c)",
    source="Bridle 1990: the Jacobian of softmax is diag(p) − p pᵀ; Dao et al. 2022 (FlashAttention), appendix B.2",
    # What else is kept in which precision on the way back is every kernel's own.
    conventions=(
        "layout",
        "mask_polarity",
        "causal_alignment",
        "causal_with_mask",
        "empty_row",
        "window_counting",
        "softmax_dtype",
    ),
)

OPERATIONS = (ATTENTION_WEIGHTS_BACKWARD,)
