"""The gradients of attention, which its backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.attention import IS_CAUSAL, KEY, MASK, QUERY, SCALE, VALUE
from veriformer.spec.operations.operation import Operation, Parameter

SCALED_DOT_PRODUCT_ATTENTION_BACKWARD = Operation(
    name="scaled_dot_product_attention_backward",
    prefix="attention_backward",
    summary="The gradients of a loss with respect to queries, keys and values, given that of the output.",
    parameters=(
        QUERY,
        KEY,
        VALUE,
        Parameter("grad_output", "(B, H, L, Dv)", "float", "positional", "the loss's gradient by the output"),
        MASK,
        IS_CAUSAL,
        SCALE,
    ),
    result="(B, H, L, D), (B, H, S, D), (B, H, S, Dv)",
    formula="dV = Pᵀ dO, dP = dO Vᵀ, dS = P ∘ (dP − rowsum(P ∘ dP)), dQ = scale · dS K, dK = scale · dSᵀ Q, "
    "P the weights of the forward pass",
    source="Dao et al. 2022 (FlashAttention), appendix B.2",
    conventions=(
        "layout",
        "mask_polarity",
        "causal_alignment",
        "causal_with_mask",
        "empty_row",
        "softmax_dtype",
        "numerics",
    ),
    results=("grad_query", "grad_key", "grad_value"),
    keeps_results=False,
    place=5,
)

OPERATIONS = (SCALED_DOT_PRODUCT_ATTENTION_BACKWARD,)
