"""Laws of the gradients of attention."""

from __future__ import annotations

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.attention_backward import SCALED_DOT_PRODUCT_ATTENTION_BACKWARD

DAO = "Dao et al. 2022 (FlashAttention), appendix B.2"
DERIVATION = "attention_backward"

GRAD_VALUE = Property(
    key="grad_value",
    statement="The gradient of a value is the sum of the outputs' gradients, weighted as the value was.",
    formula="dV = Pᵀ dO",
    source=DAO,
    derivation=DERIVATION,
    steps=("The gradient of the values: dV = Pᵀ G",),
)
GRAD_QUERY = Property(
    key="grad_query",
    statement="The gradient of a query is the sum of the keys, weighted by the gradients of its logits.",
    formula="dQ = s · dS K, dS = P ∘ (dO Vᵀ − rowsum(P ∘ dO Vᵀ)), s = 1/√D",
    source=DAO,
    derivation=DERIVATION,
    steps=(
        "The gradient of the queries: dQ = σ dS K",
        "The gradient of the logits: dS = P ∘ (dP − D)",
    ),
)
GRAD_KEY = Property(
    key="grad_key",
    statement="The gradient of a key is the sum of the queries, weighted by the gradients of its logits.",
    formula="dK = s · dSᵀ Q, dS = P ∘ (dO Vᵀ − rowsum(P ∘ dO Vᵀ)), s = 1/√D",
    source=DAO,
    derivation=DERIVATION,
    steps=(
        "The gradient of the keys: dK = σ dSᵀ Q",
        "The gradient of the logits: dS = P ∘ (dP − D)",
    ),
)
EXPLICIT_SCALE = Property(
    key="explicit_scale",
    statement="An explicit scale enters the weights and multiplies the gradients of queries and keys.",
    formula="dQ = s · dS K, dK = s · dSᵀ Q with P = softmax(s Q Kᵀ)",
    source=DAO,
    derivation=DERIVATION,
    steps=(
        "The gradient of the queries: dQ = σ dS K",
        "The gradient of the keys: dK = σ dSᵀ Q",
    ),
    features=("scale",),
)
VALUE_WIDTH = Property(
    key="value_width",
    statement="Values may be wider or narrower than queries and keys.",
    formula="Dv ≠ D: dV has the width of V and dO, dQ and dK that of Q and K",
    source="Vaswani et al. 2017, section 3.2.1: queries and keys of dimension d_k, values of dimension d_v",
    reason="D and Dv are separate symbols in the formula",
)
FAINT_KEY = Property(
    key="scale.faint_key",
    statement="The value of a key far below the largest gets its exact share of the outputs' gradients.",
    formula="dV[j] = Σ_i e^(z_ij − max z_i) dO[i] / Σ e^(z_i − max z_i), e^(−64) as well as e^(−1)",
    source=f"{DAO}; a share δ of the logits is a share δ (max z − z_j) of the gradient",
    derivation="attention_rounding",
    steps=("The output where only one key has a value, and it lies d below the other",),
)
LARGE_LOGITS = Property(
    key="large_logits",
    statement="Logits far beyond the range of exp give finite gradients.",
    formula="|logits| > 88: dQ, dK and dV are finite and equal the formula",
    source="Milakov & Gimelshein 2018, section 2 (safe softmax)",
    derivation="softmax",
    steps=("Adding a constant to all logits changes nothing",),
)
MANY_KEYS = Property(
    key="many_keys",
    statement="Hundreds of keys with equal logits give a query no gradient.",
    formula="K[j] = k for all j: dQ = s (Σ_j dS[:, j]) k = 0, however large Σ_j exp(S[i, j] − max) = S is",
    source="each row of dS sums to zero; differentiating x / Σx through (Σx)² overflows float16 once Σx ≥ 256",
    derivation=DERIVATION,
    steps=("Every row of dS sums to 0",),
)
SINGLE_KEY = Property(
    key="single_key",
    statement="With a single key its value gets the whole gradient, and query and key get none.",
    formula="S = 1: dQ = 0, dK = 0, dV = Σ_i dO[i]",
    source="P = 1 whatever the logits, so dS = 0",
    derivation=DERIVATION,
    steps=(
        "Every row of dS sums to 0",
        "The gradients of the values sum to those of the outputs",
    ),
)
EQUAL_VALUES = Property(
    key="values.equal",
    statement="If all values are equal, neither queries nor keys have a gradient.",
    formula="V[j] = v for all j: dQ = 0 and dK = 0",
    source="the output is v whatever the weights; each row of dS is P ∘ (c − c)",
    derivation=DERIVATION,
    steps=("The gradient of the logits: dS = P ∘ (dP − D)",),
)
KEYS_SUM = Property(
    key="keys.sum_to_zero",
    statement="The gradients of the keys sum to zero.",
    formula="Σ_j dK[j] = s Σ_i (Σ_j dS[i, j]) Q[i] = 0",
    source="one vector added to all keys changes no weight: softmax ignores a shift of its row",
    derivation=DERIVATION,
    steps=("So the gradients of the keys sum to 0",),
)
VALUES_SUM = Property(
    key="values.sum",
    statement="The gradients of the values sum to those of the outputs.",
    formula="Σ_j dV[j] = Σ_i dO[i]",
    source="the weights of each query sum to one",
    derivation=DERIVATION,
    steps=("The gradients of the values sum to those of the outputs",),
)
EQUAL_SHARES = Property(
    key="equal_shares",
    statement="The products of the queries with their gradients and those of the keys with theirs have the same sum.",
    formula="Σ_i Q[i] · dQ[i] = Σ_j K[j] · dK[j] = Σ_ij S[i, j] dS[i, j]",
    source="the logits depend on products of both only: t Q and K/t give the same for every t",
    derivation=DERIVATION,
    steps=("Queries and keys have equal shares: Σ Q ∘ dQ = Σ K ∘ dK",),
)
LOGITS = (
    GRAD_VALUE,
    GRAD_QUERY,
    GRAD_KEY,
    EXPLICIT_SCALE,
    VALUE_WIDTH,
    FAINT_KEY,
    LARGE_LOGITS,
    MANY_KEYS,
    SINGLE_KEY,
    EQUAL_VALUES,
    KEYS_SUM,
    VALUES_SUM,
    EQUAL_SHARES,
)

MASK_VALUE = Property(
    key="mask.value",
    statement="Under a mask the gradients are those of a softmax over the visible keys.",
    formula="dS and dV with P = softmax over the visible keys, 0 elsewhere",
    source=f"{DAO}; Vaswani et al. 2017, section 3.2.3",
    derivation=DERIVATION,
    steps=(
        "The gradient of the logits: dS = P ∘ (dP − D)",
        "The gradient of the values: dV = Pᵀ G",
    ),
    features=("mask",),
    conventions=("mask_polarity",),
)
MASKED_KEYS = Property(
    key="mask.masked_keys",
    statement="A key that no query may see has no gradient, and neither has its value.",
    formula="mask[:, j] False: dK[j] = 0 and dV[j] = 0",
    source="P[:, j] = 0 is a factor of both",
    derivation=DERIVATION,
    steps=(
        "A key hidden from every query has no gradient",
        "The value of a hidden key has no gradient",
    ),
    features=("mask",),
)
MASKED_CONTENT = Property(
    key="mask.masked_content",
    statement="The finite contents of a masked key or value change no gradient.",
    formula="mask[:, j] False: dQ, dK, dV are the same for every K[j], V[j]",
    source="P[:, j] = 0 is a factor of every term with K[j] or V[j]",
    derivation="masking",
    steps=(
        "The content of a masked key does not matter",
        "The content of a masked value does not matter",
    ),
    features=("mask",),
)
BROADCAST = Property(
    key="mask.broadcast",
    statement="A mask with an axis of size one holds for every entry of that axis.",
    formula="g(…; mask) = g(…; mask expanded to (B, H, L, S))",
    source="the interface's broadcasting rule (NumPy's)",
    reason="part of the interface: the meaning of an axis of size one",
    features=("mask",),
)
EMPTY_ROW = Property(
    key="mask.empty_row",
    statement="A query whose output is zero because it sees no key has no gradient and contributes to none.",
    formula="empty_row zeros, no visible j: dQ[i] = 0, and dK, dV are those without row i",
    source="docs/interface.md: gradients at an empty row are zero where its value is, else not compared",
    reason="the value of such a row is a convention, and a constant has no gradient",
    features=("mask",),
    conventions=("empty_row",),
)
MASKS = (MASK_VALUE, MASKED_KEYS, MASKED_CONTENT, BROADCAST, EMPTY_ROW)

FUTURE = Property(
    key="causal.no_future_gradient",
    statement="Under the causal flag a loss on earlier outputs sends no gradient to later keys and values.",
    formula="dO[i] = 0 for i ≥ n: dK[j] = 0 and dV[j] = 0 for every j that no i < n sees",
    source="Vaswani et al. 2017, section 3.2.3: prevent leftward information flow",
    derivation=DERIVATION,
    steps=(
        "With a causal mask a loss on a prefix sends no gradient to later keys",
        "With a causal mask a loss on a prefix sends no gradient to later values",
    ),
    features=("is_causal",),
)
UNEQUAL_LENGTHS = Property(
    key="causal.unequal_lengths",
    statement="With L ≠ S the causal flag follows one alignment, in the backward pass too.",
    formula="visible: j ≤ i (top-left) or j ≤ i + S − L (bottom-right)",
    source="docs/interface.md, convention causal_alignment",
    reason="a convention: no definition fixes where the diagonal of an oblong mask begins",
    features=("is_causal",),
    conventions=("causal_alignment",),
)
EXPLICIT_CAUSAL = Property(
    key="causal.explicit_mask",
    statement="The causal flag gives the gradients of the explicit triangular mask.",
    formula="g(…; is_causal) = g(…; mask = causal_mask(L, S))",
    source="seed document 000, worked example 3",
    reason="the definition of the flag",
    features=("is_causal", "mask"),
    conventions=("causal_alignment",),
)
WITH_PADDING = Property(
    key="causal.with_padding",
    statement="The causal flag and a mask given together both apply.",
    formula="g(…; is_causal, mask = M) = g(…; mask = causal_mask ∧ M)",
    source="seed document 000, worked example 3, step 4",
    derivation="causality",
    steps=("Causal and padding mask together are the product of their indicators",),
    features=("is_causal", "mask"),
    conventions=("causal_with_mask",),
)
CAUSAL_EMPTY_ROW = Property(
    key="causal.empty_row",
    statement="A query whose output is zero because the causal flag hides all keys has no gradient and adds to none.",
    formula="bottom_right, i + S − L < 0, empty_row zeros: dQ[i] = 0, and dK, dV are those without row i",
    source="docs/interface.md: gradients at an empty row are zero where its value is, else not compared",
    reason="the value of such a row is a convention, and a constant has no gradient",
    features=("is_causal",),
    conventions=("causal_alignment", "empty_row"),
)
CAUSAL = (FUTURE, UNEQUAL_LENGTHS, EXPLICIT_CAUSAL, WITH_PADDING, CAUSAL_EMPTY_ROW)

BATCH_INDEPENDENCE = Property(
    key="batch.independence",
    statement="A sample's gradients do not depend on the other samples of the batch.",
    formula="g(inputs)[b] is the same for every inputs[b′], b′ ≠ b",
    source="the formula has no term in which two samples meet",
    derivation="independence",
    steps=(
        "No dependence on queries of another batch entry",
        "No dependence on keys of another batch entry",
        "No dependence on values of another batch entry",
    ),
)
HEAD_INDEPENDENCE = Property(
    key="heads.independence",
    statement="A head's gradients do not depend on the other heads.",
    formula="g(inputs)[:, h] is the same for every inputs[:, h′], h′ ≠ h",
    source="Vaswani et al. 2017, section 3.2.2: heads are computed in parallel",
    derivation="independence",
    steps=(
        "No dependence on queries of another head",
        "No dependence on keys of another head",
        "No dependence on values of another head",
    ),
)
QUERY_PERMUTATION = Property(
    key="queries.permutation",
    statement="Reordering queries and output gradients together only reorders the queries' gradients.",
    formula="g(P Q, K, V, P dO) = (P dQ, dK, dV)",
    source="each query is answered alone, and sums over queries have no order",
    derivation="permutation",
    steps=("Permuting the queries permutes the outputs",),
)
KEY_PERMUTATION = Property(
    key="keys.permutation",
    statement="Reordering keys and values together only reorders their gradients.",
    formula="g(Q, P K, P V, dO) = (dQ, P dK, P dV)",
    source="a sum does not depend on the order of its terms",
    derivation="permutation",
    steps=("Permuting keys and values together changes nothing",),
)
SYMMETRY = (BATCH_INDEPENDENCE, HEAD_INDEPENDENCE, QUERY_PERMUTATION, KEY_PERMUTATION)

BIAS_VALUE = Property(
    key="bias.value",
    statement="A bias enters the weights, and its entries of −∞ hide keys, in the backward pass too.",
    formula="dS, dV with P = softmax(s Q Kᵀ + bias)",
    source="Shaw et al. 2018, equation 4, by the chain rule: the bias is a constant of the logits",
    derivation=DERIVATION,
    steps=("The gradient of the logits: dS = P ∘ (dP − D)", "A masked logit has no gradient"),
    features=("bias",),
)
WINDOW_VALUE = Property(
    key="window.value",
    statement="Under a window the gradients are those of a softmax over the keys near the query's position.",
    formula="dS and dV with P = softmax over i − left ≤ j ≤ i + right, 0 elsewhere",
    source="Beltagy et al. 2020, section 3.1; Jiang et al. 2023, section 2",
    derivation=DERIVATION,
    steps=("The gradient of the logits: dS = P ∘ (dP − D)", "The gradient of the values: dV = Pᵀ G"),
    features=("window",),
    conventions=("window_counting",),
)
WINDOW_BEYOND = Property(
    key="window.no_gradient_beyond",
    statement="A loss on outputs whose windows begin later sends no gradient to earlier keys and values.",
    formula="dO[i] = 0 for every i whose window has key j: dK[j] = 0 and dV[j] = 0",
    source="Beltagy et al. 2020, section 3.1: what is beyond the window has no influence",
    derivation=DERIVATION,
    steps=("A masked logit has no gradient",),
    features=("window",),
    conventions=("window_counting",),
)
SOFTCAP_SLOPE = Property(
    key="softcap.slope",
    statement="A soft cap multiplies the gradient of each logit by its slope.",
    formula="dS before the cap = (1 − tanh²(z / c)) · P ∘ (dP − rowsum(P ∘ dP)), P = softmax(c tanh(z / c))",
    source="Gemma Team 2024 (Gemma 2), section 2, by the chain rule",
    derivation="softcap",
    steps=("The hyperbolic tangent with one exponential", "The slope", "The slope by the capped logit"),
    features=("softcap",),
)
SINKS_VALUE = Property(
    key="sinks.value",
    statement="A sink takes its share of the weights in the backward pass too, and the gradients are smaller by it.",
    formula="dS and dV with P_ij = e^(z_ij) / (e^(σ_h) + Σ_j' e^(z_ij'))",
    source="OpenAI 2025 (gpt-oss model card), section 2.2, by the chain rule",
    derivation="sinks",
    steps=("A sink is one key more, of logit σ and value zero",),
    features=("sinks",),
)
ALL_TOGETHER = Property(
    key="order_of_steps",
    statement="The gradients are those of scale, soft cap, bias, mask, window and sinks in this order.",
    formula="dS and dV with P = softmax([cap(s q·k) + bias where mask and window show the key, σ])",
    source="docs/interface.md; ONNX Attention-25, node order",
    reason="the order of the steps is part of the interface",
    features=("scale", "softcap", "bias", "mask", "window", "sinks"),
)
ADDITIONS = (BIAS_VALUE, WINDOW_VALUE, WINDOW_BEYOND, SOFTCAP_SLOPE, SINKS_VALUE, ALL_TOGETHER)

BACKWARD_LAWS = (*LOGITS, *MASKS, *CAUSAL, *SYMMETRY, *ADDITIONS, *EVERY_BACKWARD_PASS)

LAWS = state(BACKWARD_LAWS, SCALED_DOT_PRODUCT_ATTENTION_BACKWARD)
