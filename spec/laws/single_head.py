"""Laws of attention of one head between projections of one sequence."""

from __future__ import annotations

from veriformer.spec.laws.attention import SCALE
from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.masking import EMPTY_ROW, EMPTY_ROW_LOCAL, MASK_VALUE, MASKED_CONTENT, POLARITY
from veriformer.spec.laws.softmax import LARGE_LOGITS
from veriformer.spec.laws.symmetry import SAMPLES, TOKEN_PERMUTATION
from veriformer.spec.operations.single_head import SINGLE_HEAD_ATTENTION

VASWANI = "Vaswani et al. 2017, section 3.2.2"

VALUE = Property(
    key="value",
    statement="Queries, keys and values are the sequence times W_Q, W_K and W_V, and the output is their attention.",
    formula="f(x) = softmax(x W_Q (x W_K)ᵀ / √D) x W_V",
    source=f"{VASWANI}; seed document 003, exercise SingleHeadAttention",
    reason="the definition of the operation",
)
SINGLE_TOKEN = Property(
    key="single_token",
    statement="A single token sees itself alone: the output is its projected value.",
    formula="L = 1: f(x) = x W_V",
    source="the softmax of one logit is 1",
    reason="a softmax over one entry is 1 whatever the entry, by its definition",
)
QUERY_KEY_SCALES = Property(
    key="projections.rescaled",
    statement="Doubling W_Q and halving W_K changes nothing.",
    formula="f(x; 2 W_Q, W_K / 2, W_V) = f(x; W_Q, W_K, W_V)",
    source="the logits are bilinear in W_Q and W_K",
    reason="a factor of two is exact in floating point and leaves the logits as they are",
)
LINEAR_IN_VALUES = Property(
    key="projections.values",
    statement="Doubling W_V doubles the output, and W_Q and W_K have no further influence on it.",
    formula="f(x; W_Q, W_K, 2 W_V) = 2 f(x; W_Q, W_K, W_V)",
    source="the output is linear in the values",
    reason="the weights do not depend on W_V, and a factor of two is exact in floating point",
)

SINGLE_HEAD_LAWS = (
    VALUE,
    SCALE,
    SINGLE_TOKEN,
    QUERY_KEY_SCALES,
    LINEAR_IN_VALUES,
    LARGE_LOGITS,
    POLARITY,
    MASK_VALUE,
    MASKED_CONTENT,
    EMPTY_ROW,
    EMPTY_ROW_LOCAL,
    *SAMPLES,
    TOKEN_PERMUTATION,
)

LAWS = state(SINGLE_HEAD_LAWS, SINGLE_HEAD_ATTENTION)
