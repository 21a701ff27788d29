"""Relative positions, which bear on logits."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

ALIBI_BIAS = Operation(
    name="alibi_bias",
    prefix="alibi",
    summary="A bias for the logits that falls linearly with the distance, in each head at a slope of its own.",
    parameters=(
        Parameter("num_heads", "", "scalar", "positional", "H"),
        Parameter("query_length", "", "scalar", "positional", "L; the queries are the last L of the S positions"),
        Parameter("key_length", "", "scalar", "positional", "S"),
    ),
    result="(H, L, S)",
    formula="bias[h, r, j] = −m_h (i − j), i = r + S − L, m_h = 2^(−8(h + 1)/H) for H a power of two",
    source="Press, Smith & Lewis 2022, section 3; slopes of other head counts: the paper's code, get_slopes",
    place=12,
)
RELATIVE_POSITION_BUCKET = Operation(
    name="relative_position_bucket",
    prefix="relative_bucket",
    summary="Sort relative positions into buckets: one each for near ones, logarithmically wider for far ones.",
    parameters=(
        Parameter("relative_position", "(...)", "int", "positional", "key position − query position"),
        Parameter("bidirectional", "", "flag", "feature", "whether later keys have buckets of their own"),
        Parameter("num_buckets", "", "scalar", "feature", "number of buckets, of both directions together"),
        Parameter("max_distance", "", "scalar", "feature", "distances from this one on share a bucket"),
    ),
    result="int (...)",
    formula="bucket = n for n < N/2, else min(N/2 + ⌊ln(n/(N/2)) / ln(max_distance/(N/2)) · (N − N/2)⌋, N − 1);"
    " n the distance, N the buckets of one direction, later keys counted from N on where bidirectional",
    source="Raffel et al. 2020, T5, section 2.1; its code, relative_position_bucket",
    place=13,
)

OPERATIONS = (ALIBI_BIAS, RELATIVE_POSITION_BUCKET)
