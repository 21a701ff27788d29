"""Attention of one head between projections of one sequence."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

SINGLE_HEAD_ATTENTION = Operation(
    name="single_head_attention",
    prefix="single_head",
    summary="Attend from every position of a sequence to the others in one learned subspace.",
    parameters=(
        Parameter(
            "x",
            "(B, L, E)",
            "float",
            "positional",
            "the source of queries, keys and values",
            also_called="input inputs hiddenstates h hidden",
        ),
        Parameter("weights", "w_q (E, D), w_k (E, D), w_v (E, Dv)", "weights", "positional", "attributes; no biases"),
        Parameter(
            "mask",
            "(L, L) or rank 3, broadcastable to (B, L, L)",
            "bool",
            "feature",
            "True = may attend",
            also_called="attnmask attentionmask",
        ),
    ),
    result="(B, L, Dv)",
    formula="softmax(x W_Q (x W_K)ᵀ / √D, over the visible positions) x W_V",
    source="Vaswani et al. 2017, sections 3.2.1 and 3.2.2",
    conventions=("mask_polarity", "empty_row", "softmax_dtype"),
    place=6,
    also_called="singleheadattention singlehead onehead",
)

OPERATIONS = (SINGLE_HEAD_ATTENTION,)
