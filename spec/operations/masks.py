"""The two masks that every Transformer builds."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

CAUSAL_MASK = Operation(
    name="causal_mask",
    prefix="causal_mask",
    summary="Which keys each query may see when none may see a later position.",
    parameters=(
        Parameter("query_length", "", "scalar", "positional", "L"),
        Parameter("key_length", "", "scalar", "positional", "S"),
    ),
    result="bool (L, S)",
    formula="mask[i, j] = (j ≤ i) top-left, or (j ≤ i + S − L) bottom-right",
    source="Vaswani et al. 2017, section 3.2.3",
    conventions=("causal_alignment",),
    place=8,
)

PADDING_MASK = Operation(
    name="padding_mask",
    prefix="padding_mask",
    summary="Which positions of each padded sequence hold a real token.",
    parameters=(
        Parameter("lengths", "(B,)", "int", "positional", "number of real tokens in each sequence"),
        Parameter("max_length", "", "scalar", "positional", "S"),
    ),
    result="bool (B, S)",
    formula="mask[b, j] = (j < lengths[b])",
    source="Vaswani et al. 2017, section 3.2.3 (masks of illegal positions); True at real tokens",
    place=9,
)

OPERATIONS = (CAUSAL_MASK, PADDING_MASK)
