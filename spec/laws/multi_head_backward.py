"""Laws of the gradients of attention between projections."""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws.attention_backward import BATCH_INDEPENDENCE
from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.multi_head_backward import (
    MULTI_HEAD_ATTENTION_BACKWARD,
    SINGLE_HEAD_ATTENTION_BACKWARD,
)

VASWANI = "Vaswani et al. 2017, section 3.2.2, differentiated"
DAO = "Dao et al. 2022 (FlashAttention), appendix B.2"
ATTENTION = "attention_backward"
MATRICES = "matrices_backward"
OUTER = "The gradient of a matrix is a sum over rows"
BACK = "The gradient passes a matrix by its transpose"
OFFSET = "An offset that every row uses gets the sum of G over the rows"
ADD_UP = "every position of every sample uses the same weights, and the gradients of all uses add up"


def _of_matrix(name: str, statement: str, formula: str) -> Property:
    return Property(
        key=f"grad_w_{name}",
        statement=statement,
        formula=formula,
        source=VASWANI,
        derivation=MATRICES,
        steps=(OUTER,),
    )


GRAD_X = Property(
    key="grad_x",
    statement="The gradient of a vector passes back through the last projection, the attention of its query, and the "
    "queries' projection.",
    formula="dx = dQ W_Qᵀ, (dQ, dK, dV) = attention_backward(Q, K, V, dO W_Oᵀ)",
    source=VASWANI,
    derivation=MATRICES,
    steps=(BACK,),
)
GRAD_SEQUENCE = Property(
    key="grad_x",
    statement="The gradient of a sequence is the sum of those through its queries, its keys and its values.",
    formula="dx = dQ W_Qᵀ + dK W_Kᵀ + dV W_Vᵀ",
    source=VASWANI,
    derivation=MATRICES,
    steps=(BACK,),
)
GRAD_CONTEXT = Property(
    key="grad_context",
    statement="The gradient of the context is the sum of those through its keys and its values.",
    formula="dcontext = dK W_Kᵀ + dV W_Vᵀ",
    source=VASWANI,
    derivation=MATRICES,
    steps=(BACK,),
)
GRAD_W_Q = _of_matrix(
    "q",
    "The gradient of the queries' projection is the sum over all positions of vector times gradient of its query.",
    "dW_Q = Σ xᵀ dQ",
)
GRAD_W_K = _of_matrix(
    "k",
    "The gradient of the keys' projection is the sum over all positions of vector times gradient of its key.",
    "dW_K = Σ cᵀ dK",
)
GRAD_W_V = _of_matrix(
    "v",
    "The gradient of the values' projection is the sum over all positions of vector times gradient of its value.",
    "dW_V = Σ cᵀ dV",
)
GRAD_W_O = _of_matrix(
    "o",
    "The gradient of the last projection is the sum over all positions of the heads side by side times the output's "
    "gradient.",
    "dW_O = Σ Concat(head_1, …, head_H)ᵀ dO",
)
GRAD_BIASES = Property(
    key="grad_biases",
    statement="The gradient of each bias is the sum over all positions of the gradient of what it is added to.",
    formula="db_Q = Σ dQ, db_V = Σ dV, db_O = Σ dO",
    source=ADD_UP,
    derivation="backward",
    steps=(OFFSET,),
)
KEY_BIAS = Property(
    key="b_k.no_gradient",
    statement="The bias of the keys has no gradient.",
    formula="db_K = Σ dK = 0",
    source="the bias adds one number to all logits of a query, which softmax ignores",
    derivation=ATTENTION,
    steps=("So the gradients of the keys sum to 0",),
)
SINGLE_KEY = Property(
    key="single_key",
    statement="With a single key the projections of queries and keys have no gradient.",
    formula="S = 1: dW_Q = 0, dW_K = 0",
    source="the softmax of one logit is 1 whatever the logit",
    derivation=ATTENTION,
    steps=("Every row of dS sums to 0",),
)
RESCALED = Property(
    key="projections.rescaled",
    statement="Doubled queries and halved keys halve the gradient of the queries' projection, double that of the "
    "keys', and leave the others.",
    formula="g(2 W_Q, W_K / 2): dW_Q / 2, 2 dW_K, dW_V, dx",
    source="the logits are products of both: the output is the same, and each gradient has the other's factor",
    derivation=ATTENTION,
    steps=("Queries and keys have equal shares: Σ Q ∘ dQ = Σ K ∘ dK",),
)
EQUAL_SHARES = Property(
    key="equal_shares",
    statement="The projection of the queries, with its bias, has the same product with its gradient as that of the "
    "keys.",
    formula="Σ W_Q ∘ dW_Q + Σ b_Q db_Q = Σ W_K ∘ dW_K + Σ b_K db_K",
    source="both are Σ S ∘ dS: the logits are linear in each",
    derivation=ATTENTION,
    steps=("Queries and keys have equal shares: Σ Q ∘ dQ = Σ K ∘ dK",),
)
VALUES_ALONG = Property(
    key="w_v.along_itself",
    statement="The projection of the values, with its bias, has the product with its gradient that the outputs without "
    "their bias have with theirs.",
    formula="Σ W_V ∘ dW_V + Σ b_V db_V = Σ dO ∘ (y − b_O)",
    source="the output without its bias is linear in the values",
    derivation=MATRICES,
    steps=("A matrix times its gradient is the output times its gradient",),
)
LAST_ALONG = Property(
    key="w_o.along_itself",
    statement="The last projection has the product with its gradient that the outputs without their bias have with "
    "theirs.",
    formula="Σ W_O ∘ dW_O = Σ dO ∘ (y − b_O)",
    source="the output without its bias is linear in the last projection",
    derivation=MATRICES,
    steps=("A matrix times its gradient is the output times its gradient",),
)
HEAD_ORDER = Property(
    key="heads.permutation",
    statement="Heads in another order, with their weights, have the gradients of their weights in that order.",
    formula="g(P W) = P g(W), dx(P W) = dx(W), P a permutation of the heads",
    source="the heads are summed by the last projection",
    derivation="multi_head",
    steps=("Permuting the heads together with the blocks of W_O changes nothing",),
)
GROUPED = Property(
    key="grouped_heads",
    statement="The gradient of a projection that query heads share is the sum of those of as many projections of their "
    "own.",
    formula="dW_K^g = Σ_(h in group g) dW_K^h, dW_V^g = Σ_(h in group g) dW_V^h",
    source="Ainslie et al. 2023, section 2.2, by the chain rule",
    derivation=ATTENTION,
    steps=("Heads that share a key add up their gradients", "Heads that share a value add up their gradients"),
    features=("num_kv_heads",),
)
ADDITIVE = Property(
    key="samples.additive",
    statement="The gradients of the weights over some samples and over the others add up to those over all.",
    formula="g(x, dO) = g(x[A], dO[A]) + g(x[B], dO[B]), A and B all samples, g the gradients of the weights",
    source=ADD_UP,
    derivation=MATRICES,
    steps=(OUTER,),
)
MASK_VALUE = Property(
    key="mask.value",
    statement="Under a mask the gradients are those of attention over the visible keys.",
    formula="(dQ, dK, dV) with P = softmax over the visible keys, 0 elsewhere",
    source=f"{DAO}; Vaswani et al. 2017, section 3.2.3",
    derivation=ATTENTION,
    steps=("The gradient of the logits: dS = P ∘ (dP − D)", "A masked logit has no gradient"),
    features=("mask",),
    conventions=("mask_polarity",),
)
EMPTY_ROW = Property(
    key="mask.empty_row",
    statement="A query whose heads are zero because they see no key sends no gradient back through them.",
    formula="empty_row zeros, no visible j: dQ[i] = 0, and dK, dV and the gradients of all matrices are those without "
    "row i",
    source="docs/interface.md: gradients at an empty row are zero where its value is, else not compared",
    reason="the heads of such a row are a convention, and constants have no gradient",
    features=("mask",),
    conventions=("mask_polarity", "empty_row"),
)
UNSEEN = Property(
    key="mask.masked_keys",
    statement="A position of the context that no query may see has no gradient.",
    formula="mask[:, j] False: dcontext[j] = 0",
    source="its weight is 0 whatever it holds",
    derivation=ATTENTION,
    steps=("A key hidden from every query has no gradient", "The value of a hidden key has no gradient"),
    features=("mask",),
    conventions=("mask_polarity",),
)
FUTURE = Property(
    key="causal.no_future_gradient",
    statement="A loss on a prefix of the output gives no gradient to later positions of the context.",
    formula="dO[i] = 0 for i ≥ n: dcontext[j] = 0 where no query before n sees j",
    source="Vaswani et al. 2017, section 3.2.3: information does not flow to the left",
    derivation=ATTENTION,
    steps=(
        "With a causal mask a loss on a prefix sends no gradient to later keys",
        "With a causal mask a loss on a prefix sends no gradient to later values",
    ),
    features=("is_causal",),
    conventions=("causal_alignment",),
)
SAMPLES = replace(
    BATCH_INDEPENDENCE,
    statement="The gradient of a sample's vectors does not depend on the other samples of the batch.",
    formula="dx(inputs)[b] is the same for every inputs[b′], b′ ≠ b",
)
_OF_BOTH = (
    GRAD_W_Q,
    GRAD_W_K,
    GRAD_W_V,
    SINGLE_KEY,
    RESCALED,
    EQUAL_SHARES,
    VALUES_ALONG,
    MASK_VALUE,
    EMPTY_ROW,
    SAMPLES,
    ADDITIVE,
    *EVERY_BACKWARD_PASS,
)
SINGLE_HEAD_LAWS = (GRAD_SEQUENCE, *_OF_BOTH)
MULTI_HEAD_LAWS = (
    GRAD_X,
    GRAD_CONTEXT,
    GRAD_W_O,
    GRAD_BIASES,
    KEY_BIAS,
    LAST_ALONG,
    HEAD_ORDER,
    GROUPED,
    UNSEEN,
    FUTURE,
    *_OF_BOTH,
)

LAWS = (
    *state(SINGLE_HEAD_LAWS, SINGLE_HEAD_ATTENTION_BACKWARD),
    *state(MULTI_HEAD_LAWS, MULTI_HEAD_ATTENTION_BACKWARD),
)
