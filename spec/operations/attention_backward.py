"""The gradients of attention, which its backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.attention import SCALED_DOT_PRODUCT_ATTENTION
from veriformer.spec.operations.gradients import backward_of

SCALED_DOT_PRODUCT_ATTENTION_BACKWARD = backward_of(
    SCALED_DOT_PRODUCT_ATTENTION,
    ("query", "key", "value"),
    prefix="attention_backward",
    summary="The gradients of a loss with respect to queries, keys and values, given that of the output.",
    formula="dV = Pᵀ dO, dP = dO Vᵀ, dS = P ∘ (dP − rowsum(P ∘ dP)), dQ = scale · dS K, dK = scale · dSᵀ Q, "
    "P the weights of the forward pass; with a soft cap dS is multiplied by its slope 1 − tanh²(scale · Q Kᵀ / c)",
    source="Dao et al. 2022 (FlashAttention), appendix B.2",
    conventions=(
        "layout",
        "mask_polarity",
        "causal_alignment",
        "causal_with_mask",
        "empty_row",
        "window_counting",
        "softmax_dtype",
        "numerics",
    ),
)

OPERATIONS = (SCALED_DOT_PRODUCT_ATTENTION_BACKWARD,)
