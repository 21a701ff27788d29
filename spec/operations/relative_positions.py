"""Relative positions, which bear on logits."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

ALIBI_BIAS = Operation(
    name="alibi_bias",
    prefix="alibi",
    summary="A bias for the logits that falls linearly with the distance, in each head at a slope of its own.",
    parameters=(
        Parameter("num_heads", "", "scalar", "positional", "H", also_called="nheads nhead heads n h numheads"),
        Parameter(
            "query_length",
            "",
            "scalar",
            "positional",
            "L; the queries are the last L of the S positions",
            also_called="l seqlen qlen tgtlen n t length seqlength size maxlen",
        ),
        Parameter("key_length", "", "scalar", "positional", "S", also_called="s klen kvlen srclen"),
    ),
    result="(H, L, S)",
    formula="bias[h, r, j] = −m_h (i − j), i = r + S − L, m_h = 2^(−8(h + 1)/H) for H a power of two",
    source="Press, Smith & Lewis 2022, section 3; slopes of other head counts: the paper's code, get_slopes",
    place=12,
    also_called="alibibias alibi alibislopes alibitensor slopes alibimask alibipositions",
)
RELATIVE_POSITION_BUCKET = Operation(
    name="relative_position_bucket",
    prefix="relative_bucket",
    summary="Sort relative positions into buckets: one each for near ones, logarithmically wider for far ones.",
    parameters=(
        Parameter(
            "relative_position",
            "(...)",
            "int",
            "positional",
            "key position − query position",
            also_called="relpos relativepositions rel distance delta n",
        ),
        Parameter("bidirectional", "", "flag", "feature", "whether later keys have buckets of their own"),
        Parameter(
            "num_buckets",
            "",
            "scalar",
            "feature",
            "number of buckets, of both directions together",
            also_called="nbuckets buckets",
        ),
        Parameter(
            "max_distance", "", "scalar", "feature", "distances from this one on share a bucket", also_called="maxdist"
        ),
    ),
    result="int (...)",
    formula="bucket = n for n < N/2, else min(N/2 + ⌊ln(n/(N/2)) / ln(max_distance/(N/2)) · (N − N/2)⌋, N − 1);"
    " n the distance, N the buckets of one direction, later keys counted from N on where bidirectional",
    source="Raffel et al. 2020, T5, section 2.1; its code, relative_position_bucket",
    place=13,
    also_called=(
        "relativepositionbucket relativebucket t5bucket t5buckets relativepositionbuckets bucket "
        "relposbucket t5relativepositionbucket t5relativebucket relativebuckets relposbuckets bucketize"
    ),
)

OPERATIONS = (ALIBI_BIAS, RELATIVE_POSITION_BUCKET)
