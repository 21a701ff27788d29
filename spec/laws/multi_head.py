"""Laws of several heads between projections: how they are combined."""

from __future__ import annotations

from veriformer.spec.laws.attention import ALL_KEYS_TWICE, SCALE, SINGLE_KEY, SINGLE_QUERY, VALUE_WIDTH
from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.masking import CAUSAL_LAWS, MASK_LAWS
from veriformer.spec.laws.softmax import LARGE_LOGITS
from veriformer.spec.laws.symmetry import ORDER, SAMPLES
from veriformer.spec.operations.multi_head import MULTI_HEAD_ATTENTION

AINSLIE = "Ainslie et al. 2023, section 2.2"
VASWANI = "Vaswani et al. 2017, section 3.2.2"
SUM_OF_HEADS = Property(
    key="sum_of_heads",
    statement="Concatenating the heads and projecting equals summing each head's own projection.",
    formula="Concat(head_1, …, head_H) W_O = Σ_h head_h W_O^(h)",
    source=f"{VASWANI}; seed document 003: all these projections are summed",
    derivation="multi_head",
    steps=("Concatenate and project: a sum over heads",),
)
ONE_HEAD = Property(
    key="one_head",
    statement="With one head it is plain attention between projections.",
    formula="H = 1: f(x, c) = attention(x W_Q, c W_K, c W_V) W_O",
    source=VASWANI,
    derivation="multi_head",
    steps=("One head is attention with projected inputs",),
)
HEAD_ORDER = Property(
    key="heads.permutation",
    statement="Reordering the heads together with their weights changes nothing.",
    formula="f with W_Q, W_K, W_V columns and W_O rows reordered by head = f",
    source=VASWANI,
    derivation="multi_head",
    steps=("Permuting the heads together with the blocks of W_O changes nothing",),
)
PROJECTION_BIASES = Property(
    key="biases",
    statement="Each projection adds its bias, and a bias of None adds nothing.",
    formula="q = x W_Q + b_Q, k = c W_K + b_K, v = c W_V + b_V, y = Concat(heads) W_O + b_O",
    source="docs/interface.md, weights of multi_head_attention",
    reason="the definition of the parameters",
)
GROUPED_WEIGHTS = Property(
    key="grouped_heads",
    statement="Fewer key/value heads equal as many with each head's projection repeated.",
    formula="f(…; num_kv_heads = G) = f with W_K, W_V repeated H/G times by head",
    source=AINSLIE,
    derivation="grouped_query",
    steps=("Grouped attention is attention with each key/value head repeated γ times",),
    features=("num_kv_heads",),
)
MULTI_HEAD_LAWS = (SUM_OF_HEADS, ONE_HEAD, HEAD_ORDER, PROJECTION_BIASES, GROUPED_WEIGHTS)

LAWS = state(
    (
        WORKED_EXAMPLES,
        SCALE,
        SINGLE_KEY,
        SINGLE_QUERY,
        LARGE_LOGITS,
        ALL_KEYS_TWICE,
        VALUE_WIDTH,
        *MASK_LAWS,
        *CAUSAL_LAWS,
        *SAMPLES,
        *ORDER,
        *MULTI_HEAD_LAWS,
    ),
    MULTI_HEAD_ATTENTION,
)
