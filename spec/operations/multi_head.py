"""Attention of several heads between projections, with one projection out."""

from __future__ import annotations

from veriformer.spec.operations.attention import IS_CAUSAL, MASK, MASK_CONVENTIONS
from veriformer.spec.operations.operation import Operation, Parameter

MULTI_HEAD_ATTENTION = Operation(
    name="multi_head_attention",
    prefix="multi_head",
    summary="Attend in several learned subspaces at once and mix what each head found.",
    parameters=(
        Parameter(
            "x",
            "(B, L, E)",
            "float",
            "positional",
            "the source of the queries",
            also_called="input inputs hiddenstates h hidden query q",
        ),
        Parameter(
            "context",
            "(B, S, E)",
            "float",
            "positional",
            "the source of the keys and values",
            also_called="memory encoderoutput kv key",
        ),
        Parameter(
            "weights",
            "w_q (E, H·D), w_k (E, G·D), w_v (E, G·Dv), w_o (H·Dv, E), biases b_q, b_k, b_v, b_o",
            "weights",
            "positional",
            "attributes; each bias is an array or None",
        ),
        Parameter(
            "num_heads",
            "",
            "scalar",
            "keyword",
            "H",
            also_called="nheads nhead heads h numheads nq nqheads numqheads numqueryheads nqueryheads",
        ),
        Parameter(
            "num_kv_heads",
            "",
            "scalar",
            "feature",
            "G, equal to H by default",
            also_called="nkvheads kvheads numkvheads ngroups nkv nkvhead numkeyvalueheads",
        ),
        MASK,
        IS_CAUSAL,
    ),
    result="(B, L, E)",
    formula="Concat(head_1, …, head_H) W_O + b_O,"
    " head_h = attention(x W_Q^h + b_Q^h, c W_K^h + b_K^h, c W_V^h + b_V^h), c = context",
    source="Vaswani et al. 2017, section 3.2.2",
    conventions=(*MASK_CONVENTIONS, "softmax_dtype", "numerics"),
    place=7,
    also_called=(
        "multiheadattention mha multihead multiheadselfattention multiheadattn mhsa selfattention "
        "attention causalselfattention"
    ),
)

OPERATIONS = (MULTI_HEAD_ATTENTION,)
