"""Attention between projections: of one head, and of several with one projection out."""

from __future__ import annotations

from veriformer.spec.operations.attention import IS_CAUSAL, MASK, MASK_CONVENTIONS
from veriformer.spec.operations.operation import Operation, Parameter

SINGLE_HEAD_ATTENTION = Operation(
    name="single_head_attention",
    prefix="single_head",
    summary="Attend from every position of a sequence to the others in one learned subspace.",
    parameters=(
        Parameter("x", "(B, L, E)", "float", "positional", "what queries, keys and values are projected from"),
        Parameter("weights", "w_q (E, D), w_k (E, D), w_v (E, Dv)", "weights", "positional", "attributes; no biases"),
        Parameter("mask", "(L, L) or rank 3, broadcastable to (B, L, L)", "bool", "feature", "True = may attend"),
    ),
    result="(B, L, Dv)",
    formula="softmax(x W_Q (x W_K)ᵀ / √D, over the visible positions) x W_V",
    source="Vaswani et al. 2017, sections 3.2.1 and 3.2.2",
    conventions=("mask_polarity", "empty_row", "softmax_dtype"),
)

MULTI_HEAD_ATTENTION = Operation(
    name="multi_head_attention",
    prefix="multi_head",
    summary="Attend in several learned subspaces at once and mix what each head found.",
    parameters=(
        Parameter("x", "(B, L, E)", "float", "positional", "what the queries are projected from"),
        Parameter("context", "(B, S, E)", "float", "positional", "what keys and values are projected from"),
        Parameter(
            "weights",
            "w_q (E, H·D), w_k (E, G·D), w_v (E, G·Dv), w_o (H·Dv, E), biases b_q, b_k, b_v, b_o",
            "weights",
            "positional",
            "attributes; each bias is an array or None",
        ),
        Parameter("num_heads", "", "scalar", "keyword", "H"),
        Parameter("num_kv_heads", "", "scalar", "feature", "G, equal to H by default"),
        MASK,
        IS_CAUSAL,
    ),
    result="(B, L, E)",
    formula="Concat(head_1, …, head_H) W_O + b_O,"
    " head_h = attention(x W_Q^h + b_Q^h, c W_K^h + b_K^h, c W_V^h + b_V^h), c = context",
    source="Vaswani et al. 2017, section 3.2.2",
    conventions=(*MASK_CONVENTIONS, "softmax_dtype", "numerics"),
)
