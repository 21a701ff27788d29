"""Laws of merging the attention over disjoint sets of keys."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.merging import MERGE_ATTENTION

MILAKOV = "Milakov & Gimelshein 2018, section 3.1"
DAO = "Dao et al. 2022, section 3.1"

MERGE_VALUE = Property(
    key="value",
    statement="The parts are averaged with the exponentials of their log-sum-exps.",
    formula="lse = ln(e^a + e^b), output = e^(a − lse) output_a + e^(b − lse) output_b",
    source=f"{MILAKOV}; {DAO}",
    reason="the definition",
)
MERGE_UNION = Property(
    key="union",
    statement="Merging the attention over two disjoint sets of keys gives the attention over their union.",
    formula="merge(f(Q, K_a, V_a), f(Q, K_b, V_b)) = f(Q, [K_a; K_b], [V_a; V_b])",
    source=f"{MILAKOV}; {DAO}",
    derivation="online_softmax",
    steps=(
        "Two parts: the output",
        "Any two sets of keys, adjacent or not: the output",
    ),
)
MERGE_ANY_SPLIT = Property(
    key="any_split",
    statement="Wherever the keys are divided, the merged parts are the same.",
    formula="merge(f(K[:m]), f(K[m:])) = merge(f(K[:n]), f(K[n:]))",
    source=DAO,
    derivation="online_softmax",
    steps=("Two parts: the output",),
)
MERGE_COMMUTATIVE = Property(
    key="commutative",
    statement="The order of the two parts does not matter.",
    formula="merge(a, b) = merge(b, a)",
    source=MILAKOV,
    derivation="online_softmax",
    steps=(
        "Merging is commutative: the output",
        "Merging is commutative: the log-sum-exp",
    ),
)
MERGE_ASSOCIATIVE = Property(
    key="associative",
    statement="Three parts give the same result in any order of merging.",
    formula="merge(merge(a, b), c) = merge(a, merge(b, c))",
    source=MILAKOV,
    derivation="online_softmax",
    steps=(
        "Merging is associative: the output",
        "Merging is associative: the log-sum-exp",
    ),
)
MERGE_EMPTY_PART = Property(
    key="empty_part",
    statement="A part without keys changes nothing.",
    formula="merge(a, (0, −∞)) = merge((0, −∞), a) = a",
    source="ln(e^a + 0) = a; vllm-project/vllm#39148",
    derivation="online_softmax",
    steps=(
        "An empty part changes no output",
        "An empty part changes no log-sum-exp",
    ),
)
MERGE_BOTH_EMPTY = Property(
    key="both_empty",
    statement="Two parts without keys merge to one without keys, not to NaN.",
    formula="merge((0, −∞), (0, −∞)) = (0, −∞)",
    source="the sum over no keys; flashinfer-ai/flashinfer#4051; docs/interface.md",
    reason="a definition: the weights are 0/0, and 0 is the empty sum",
)
MERGE_LARGE = Property(
    key="large_logarithms",
    statement="Log-sum-exps far beyond the range of exp give a finite result.",
    formula="|lse| > 88: e^(a − max) and e^(b − max) are at most 1",
    source=MILAKOV,
    derivation="online_softmax",
    steps=(
        "The reference value cancels: the output",
        "With the larger one subtracted nothing overflows",
    ),
)
MERGE_NATURAL = Property(
    key="natural_logarithm",
    statement="Two parts of equal weight have together the log-sum-exp of one of them plus ln 2.",
    formula="merge((o, a), (o, a)) = (o, a + ln 2); with base 2 it would be a + 1",
    source="docs/interface.md; vllm-project/vllm#28840",
    derivation="online_softmax",
    steps=("A part merged with itself: the log-sum-exp",),
)
MERGE_SHIFT = Property(
    key="shift",
    statement="One number added to both log-sum-exps is added to the result's, and changes no output.",
    formula="merge((o_a, a + c), (o_b, b + c)) = (output, lse + c)",
    source="shift invariance of softmax",
    derivation="online_softmax",
    steps=(
        "A constant added to all logits leaves the output",
        "A constant added to all logits is added to the log-sum-exp",
    ),
)
MERGE_CONVEX = Property(
    key="convex",
    statement="Each component of the output lies between those of the two parts.",
    formula="min(o_a, o_b) ≤ output ≤ max(o_a, o_b)",
    source="the weights e^(a − lse) and e^(b − lse) are positive and sum to one",
    derivation="online_softmax",
    steps=("Only the difference of the log-sum-exps matters to the output",),
)

MERGE_LAWS = (
    MERGE_VALUE,
    MERGE_UNION,
    MERGE_ANY_SPLIT,
    MERGE_COMMUTATIVE,
    MERGE_ASSOCIATIVE,
    MERGE_EMPTY_PART,
    MERGE_BOTH_EMPTY,
    MERGE_LARGE,
    MERGE_NATURAL,
    MERGE_SHIFT,
    MERGE_CONVEX,
)

LAWS = state(MERGE_LAWS, MERGE_ATTENTION)
