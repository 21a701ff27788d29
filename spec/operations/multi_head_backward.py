"""The gradients of attention between projections, which its backward passes return."""

from __future__ import annotations

from veriformer.spec.operations.gradients import backward_of
from veriformer.spec.operations.multi_head import MULTI_HEAD_ATTENTION
from veriformer.spec.operations.single_head import SINGLE_HEAD_ATTENTION

SINGLE_HEAD_ATTENTION_BACKWARD = backward_of(
    SINGLE_HEAD_ATTENTION,
    ("x", "weights"),
    summary="The gradients of a loss with respect to a sequence and the projections of one head that attends it.",
    formula="dQ, dK, dV = attention_backward(x W_Q, x W_K, x W_V, dO); dx = dQ W_Qᵀ + dK W_Kᵀ + dV W_Vᵀ; "
    "dW_Q = Σ xᵀ dQ, dW_K = Σ xᵀ dK, dW_V = Σ xᵀ dV over the positions",
    source="Vaswani et al. 2017, section 3.2.2, differentiated; the derivations attention_backward, matrices_backward",
)
MULTI_HEAD_ATTENTION_BACKWARD = backward_of(
    MULTI_HEAD_ATTENTION,
    ("x", "context", "weights"),
    summary="The gradients of a loss with respect to vectors, context and projections of multi-head attention.",
    formula="dQ, dK, dV = attention_backward(Q, K, V, dO W_Oᵀ) by heads, Q = x W_Q + b_Q, K = c W_K + b_K, "
    "V = c W_V + b_V; dx = dQ W_Qᵀ, dcontext = dK W_Kᵀ + dV W_Vᵀ; dW_Q = Σ xᵀ dQ, dW_K = Σ cᵀ dK, dW_V = Σ cᵀ dV, "
    "dW_O = Σ Concat(heads)ᵀ dO, db_Q = Σ dQ, db_K = Σ dK, db_V = Σ dV, db_O = Σ dO over the positions",
    source="Vaswani et al. 2017, section 3.2.2, differentiated; the derivations attention_backward, matrices_backward",
    conventions=(
        "mask_polarity",
        "causal_alignment",
        "causal_with_mask",
        "empty_row",
        "softmax_dtype",
        "numerics",
    ),
)

OPERATIONS = (SINGLE_HEAD_ATTENTION_BACKWARD, MULTI_HEAD_ATTENTION_BACKWARD)
