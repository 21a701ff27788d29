"""Laws of terms added to logits for the distance of two positions: ALiBi, and the buckets of T5."""

from __future__ import annotations

from veriformer.spec.laws.interface import INPUTS_UNCHANGED, MEMORY_LAYOUT
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.relative_positions import ALIBI_BIAS, RELATIVE_POSITION_BUCKET

PRESS = "Press, Smith & Lewis 2022, section 3"
PAPERS_CODE = "the code of Press, Smith & Lewis 2022 (ofirpress/attention_with_linear_biases), get_slopes"
RAFFEL = "Raffel et al. 2020, section 2.1"
T5_CODE = f"{RAFFEL}, and its code, relative_position_bucket"
BY_PARTS = "follows from the definition case by case; floors of logarithms lie outside the calculus of the derivations"
T5_FEATURES = ("bidirectional", "num_buckets", "max_distance")

ALIBI_VALUE = Property(
    key="value",
    statement="The bias of a visible key is minus the head's slope times the distance.",
    formula="bias[h, r, j] = −m_h (i − j), i = r + S − L ≥ j",
    source=f"{PRESS}; slopes: {PAPERS_CODE}",
    reason="the definition",
)
ALIBI_GEOMETRIC = Property(
    key="slopes.geometric",
    statement="If the number of heads H is a power of two, each head's bias is the one before times 2^(−8/H).",
    formula="bias[h + 1] = 2^(−8/H) bias[h], m_0 = 2^(−8/H)",
    source=f"{PRESS}: a geometric sequence that starts at 2^(−8/n) and has this as its ratio",
    derivation="alibi",
    steps=("The slopes form a geometric sequence",),
)
ALIBI_ANY_HEADS = Property(
    key="slopes.any_head_count",
    statement="Other head counts take the slopes of the power of two below, then every second one of twice as many.",
    formula="m(H) = m(n) followed by the first H − n of m(2n)[0], m(2n)[2], …; n the largest power of two up to H",
    source=PAPERS_CODE,
    reason="the definition; that the slopes added lie halfway between others is derived (alibi)",
)
ALIBI_TRANSLATION = Property(
    key="translation",
    statement="Moving query and key by the same distance changes nothing.",
    formula="bias[h, r + 1, j + 1] = bias[h, r, j]",
    source=f"{PRESS}: the penalty is a function of the distance",
    derivation="alibi",
    steps=("Moving query and key together changes nothing",),
)
ALIBI_DIAGONAL = Property(
    key="own_position",
    statement="A query's own position has no bias.",
    formula="bias[h, r, i] = 0, i = r + S − L",
    source=f"{PRESS}: the distance is zero there",
    reason="the definition: −m · 0",
)
ALIBI_MONOTONE = Property(
    key="monotone",
    statement="The bias falls with the distance.",
    formula="bias[h, r, j] < bias[h, r, j + 1] for j < i",
    source=f"{PRESS}: a penalty that grows with the distance",
    derivation="alibi",
    steps=("One key nearer is one slope more",),
)
ALIBI_LAST_QUERIES = Property(
    key="last_queries",
    statement="Fewer queries than keys are the last ones: their bias is the last rows of the square one.",
    formula="bias(L, S) = bias(S, S)[:, S − L :]",
    source="docs/interface.md: i = r + S − L, as decoding with cached keys needs it",
    reason="the definition: the last query stands at the last key",
)
ALIBI_ROW_SHIFT = Property(
    key="row_shift",
    statement="Under a causal softmax the bias gives the same weights as the slope times the key's position.",
    formula="softmax_{j ≤ i}(bias[h, r, j]) = softmax_{j ≤ i}(m_h j)",
    source="softmax is invariant to a constant added to a row; the paper's code adds m_h j",
    derivation="alibi",
    steps=("The bias weighs keys as slope times key position does",),
)

BUCKET_VALUE = Property(
    key="value",
    statement="Each relative position has the bucket of the definition.",
    formula="n < N/2: n; else min(N/2 + ⌊ln(n/(N/2)) / ln(max_distance/(N/2)) · (N − N/2)⌋, N − 1)",
    source=T5_CODE,
    reason="the definition",
    features=T5_FEATURES,
)
BUCKET_INTEGER = Property(
    key="dtype",
    statement="Buckets are integers.",
    formula="dtype(f(...)) is an integer dtype",
    source="docs/interface.md",
    reason="part of the interface: a promise to the caller, not a consequence of the formula",
)
BUCKET_RANGE = Property(
    key="range",
    statement="Every bucket is one of the table's rows.",
    formula="0 ≤ bucket < num_buckets",
    source=T5_CODE,
    reason=BY_PARTS,
    features=T5_FEATURES,
)
BUCKET_EXACT = Property(
    key="exact_when_near",
    statement="In the nearer half of the buckets every distance has its own bucket.",
    formula="n < N/2: bucket = n, counted from N on for later keys where bidirectional",
    source=f"{RAFFEL}; its code: half of the buckets are for exact increments in positions",
    reason="the first case of the definition",
    features=T5_FEATURES,
)
BUCKET_MONOTONE = Property(
    key="monotone",
    statement="On either side the bucket does not fall as the distance grows.",
    formula="n ≤ n′: bucket(n) ≤ bucket(n′)",
    source=f"{RAFFEL}: buckets grow logarithmically with the offset",
    reason="logarithm and floor do not decrease; floors of logarithms lie outside the calculus of the derivations",
    features=T5_FEATURES,
)
BUCKET_SATURATION = Property(
    key="saturation",
    statement="All distances from max_distance on share the last bucket of their side.",
    formula="n ≥ max_distance: bucket = N − 1, counted from N on for later keys where bidirectional",
    source=f"{RAFFEL}: an offset beyond which all relative positions are assigned to the same embedding",
    reason=BY_PARTS,
    features=T5_FEATURES,
)
BUCKET_SIDES = Property(
    key="sides",
    statement="Both directions are sorted in the same way; the buckets of later keys start at half of the buckets.",
    formula="bidirectional: bucket(d) = bucket(−d) + num_buckets/2, d > 0",
    source=T5_CODE,
    reason="the definition takes the sign first and the distance then",
    features=T5_FEATURES,
)
BUCKET_LATER_KEYS = Property(
    key="later_keys",
    statement="In one direction all later keys have the bucket of the query's own position.",
    formula="not bidirectional: bucket(d) = 0, d ≥ 0",
    source=T5_CODE,
    reason="the definition takes −min(d, 0) as the distance",
    features=T5_FEATURES,
)
BUCKET_ELEMENTS = Property(
    key="elements.independence",
    statement="A relative position's bucket depends neither on the others nor on its place.",
    formula="f(d)[π] = f(d[π]), and f(d) in any shape is f of the flattened d",
    source="docs/interface.md: an integer array of any shape",
    reason="the definition takes one relative position at a time",
    features=T5_FEATURES,
)

ALIBI_LAWS = (
    ALIBI_VALUE,
    ALIBI_GEOMETRIC,
    ALIBI_ANY_HEADS,
    ALIBI_TRANSLATION,
    ALIBI_DIAGONAL,
    ALIBI_MONOTONE,
    ALIBI_LAST_QUERIES,
    ALIBI_ROW_SHIFT,
)
BUCKET_LAWS = (
    BUCKET_INTEGER,
    BUCKET_VALUE,
    BUCKET_RANGE,
    BUCKET_EXACT,
    BUCKET_MONOTONE,
    BUCKET_SATURATION,
    BUCKET_SIDES,
    BUCKET_LATER_KEYS,
    BUCKET_ELEMENTS,
)

LAWS = (
    *state(ALIBI_LAWS, ALIBI_BIAS),
    *state((INPUTS_UNCHANGED, MEMORY_LAYOUT, *BUCKET_LAWS), RELATIVE_POSITION_BUCKET),
)
