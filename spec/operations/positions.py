"""Position encodings: added to tokens, turned into queries and keys, or added to logits."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

SINUSOIDAL_POSITIONS = Operation(
    name="sinusoidal_positions",
    prefix="sinusoid",
    summary="Encode each position as the phases of d_model/2 clocks of geometrically spaced frequency.",
    parameters=(
        Parameter("length", "", "scalar", "positional", "number of positions, counted from 0"),
        Parameter("d_model", "", "scalar", "positional", "width, even"),
    ),
    result="(length, d_model)",
    formula="PE[p, 2k] = sin(p ω_k), PE[p, 2k+1] = cos(p ω_k), ω_k = 10000^(−2k/d_model)",
    source="Vaswani et al. 2017, section 3.5",
    conventions=("sinusoidal_layout",),
)

ROTARY_EMBEDDING = Operation(
    name="rotary_embedding",
    prefix="rotary",
    summary="Turn each pair of components by an angle proportional to the position.",
    parameters=(
        Parameter("x", "(B, H, L, D)", "float", "positional", "queries or keys; D even"),
        Parameter("positions", "(L,) or (B, L)", "int", "positional", "position of each row, counted from 0"),
        Parameter("base", "", "scalar", "feature", "ratio of the geometric frequencies, 10000 by default"),
        Parameter("rotary_dim", "", "scalar", "feature", "r, how many leading components turn; even, D by default"),
    ),
    result="(B, H, L, D)",
    formula="(y_a, y_b) = (x_a cos pθ_k − x_b sin pθ_k, x_b cos pθ_k + x_a sin pθ_k), θ_k = base^(−2k/r),"
    " the k-th pair (a, b) = (2k, 2k + 1) interleaved, or (k, k + r/2) half",
    source="Su et al. 2021, RoFormer, section 3.2.2",
    conventions=("rotary_pairing",),
)

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
)

RELATIVE_POSITION_BUCKET = Operation(
    name="relative_position_bucket",
    prefix="relative_bucket",
    summary="Sort relative positions into buckets: one each for near ones, logarithmically wider for far ones.",
    parameters=(
        Parameter("relative_position", "(...)", "int", "positional", "key position − query position"),
        Parameter("bidirectional", "", "flag", "feature", "whether later keys have buckets of their own"),
        Parameter("num_buckets", "", "scalar", "feature", "number of buckets, of both directions together"),
        Parameter("max_distance", "", "scalar", "feature", "distance from which on there is one bucket"),
    ),
    result="int (...)",
    formula="bucket = n for n < N/2, else min(N/2 + ⌊ln(n/(N/2)) / ln(max_distance/(N/2)) · (N − N/2)⌋, N − 1);"
    " n the distance, N the buckets of one direction, later keys counted from N on where bidirectional",
    source="Raffel et al. 2020, T5, section 2.1; its code, relative_position_bucket",
)
