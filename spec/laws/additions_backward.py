"""Laws of the gradients of a learned bias and of sinks, many of which attention's own gradients have too."""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws.attention_backward import (
    ALL_TOGETHER,
    BATCH_INDEPENDENCE,
    BIAS_VALUE,
    BROADCAST,
    CAUSAL_EMPTY_ROW,
    EMPTY_ROW,
    EQUAL_VALUES,
    EXPLICIT_CAUSAL,
    EXPLICIT_SCALE,
    FUTURE,
    HEAD_INDEPENDENCE,
    KEY_PERMUTATION,
    LARGE_LOGITS,
    MASK_VALUE,
    MASKED_CONTENT,
    QUERY_PERMUTATION,
    SINGLE_KEY,
    SINKS_VALUE,
    SOFTCAP_SLOPE,
    UNEQUAL_LENGTHS,
    VALUE_WIDTH,
    WINDOW_VALUE,
    WITH_PADDING,
)
from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.additions_backward import ATTENTION_BIAS_BACKWARD, ATTENTION_SINKS_BACKWARD

DERIVATION = "additions_backward"
T5 = "Raffel et al. 2020 (T5), section 2.1"
GPT_OSS = "OpenAI 2025 (gpt-oss model card), section 2.2"
_LOGITS = ("The gradient of a bias is that of the logits",)
_SHARED = ("A bias that all queries share gets the sum of their gradients",)
_HIDDEN = ("A hidden entry of a bias has no gradient",)
_SINK = ("The gradient of a sink is minus the sum of its weights times D",)
_FROM_OUTPUT = ("The same from the output: D is the product of output and gradient",)
_BIAS = "dbias = P ∘ (dP − rowsum(P ∘ dP))"
_SINKS = "dσ = −Σ p_σ rowsum(P ∘ dP)"

GRAD_BIAS = Property(
    key="grad_bias",
    statement="The gradient of a bias is that of the logits, summed over whatever shares an entry of it.",
    formula=f"{_BIAS}, dP = dO Vᵀ, summed over the axes of the bias of size one",
    source=f"{T5}; Dao et al. 2022 (FlashAttention), appendix B.2",
    derivation=DERIVATION,
    steps=(*_LOGITS, *_SHARED),
)
SHARED_AXES = Property(
    key="bias.shared_axes",
    statement="A bias with an axis of size one gets the sum over that axis of what the expanded bias gets.",
    formula="g(…; bias) = Σ over its axes of size one of g(…; bias expanded to (B, H, L, S))",
    source=f"{T5}: one scalar is added to the logits of all samples",
    derivation=DERIVATION,
    steps=_SHARED,
)
ROWS_SUM = Property(
    key="rows.sum_to_zero",
    statement="The gradients of each query's entries of the bias sum to zero.",
    formula="Σ_j dbias[i, j] = 0",
    source="one number added to a row of the bias changes no weight",
    derivation="attention_backward",
    steps=("Every row of dS sums to 0",),
)
SHIFT = Property(
    key="bias.shift",
    statement="One number added to all entries of the bias changes its gradient nowhere.",
    formula="g(…; bias + c) = g(…; bias)",
    source="softmax ignores a shift of its row",
    derivation="softmax",
    steps=("Adding a constant to all logits changes nothing",),
)
HIDDEN_ENTRY = Property(
    key="bias.hidden_entry",
    statement="An entry of −∞ of the bias hides its key, and has no gradient.",
    formula="bias[i, j] = −∞: dbias[i, j] = 0, and no other entry depends on K[j] and V[j] by query i",
    source="P[i, j] = 0 is a factor of its gradient",
    derivation=DERIVATION,
    steps=_HIDDEN,
)
NOT_SCALED = replace(
    EXPLICIT_SCALE,
    statement="An explicit scale enters the weights, and is no factor of the bias's gradient.",
    formula=f"{_BIAS} with P = softmax(s Q Kᵀ + bias)",
    derivation=DERIVATION,
    steps=_LOGITS,
)
NOT_CAPPED = replace(
    SOFTCAP_SLOPE,
    key="softcap.value",
    statement="A soft cap, which stands before the bias, enters the weights and is no factor of the bias's gradient.",
    formula=f"{_BIAS} with P = softmax(c tanh(s Q Kᵀ / c) + bias)",
    source="docs/interface.md, order of the steps: soft cap, then bias",
    derivation=DERIVATION,
    steps=_LOGITS,
)
HIDDEN_ENTRIES = Property(
    key="mask.hidden_entries",
    statement="The bias of a key that the mask hides from a query has no gradient there.",
    formula="mask[i, j] False: dbias[i, j] = 0",
    source="P[i, j] = 0 is a factor of it",
    derivation=DERIVATION,
    steps=_HIDDEN,
    features=("mask",),
)

_OF_BIAS = (
    GRAD_BIAS,
    SHARED_AXES,
    ROWS_SUM,
    SHIFT,
    HIDDEN_ENTRY,
    NOT_SCALED,
    NOT_CAPPED,
    replace(VALUE_WIDTH, formula="Dv ≠ D: dP = dO Vᵀ is a sum over Dv components"),
    replace(LARGE_LOGITS, formula="|logits| > 88: dbias is finite and equals the formula"),
    replace(
        SINGLE_KEY,
        statement="With a single key the bias has no gradient.",
        formula="S = 1: dbias = 0",
        steps=("Every row of dS sums to 0",),
    ),
    replace(
        EQUAL_VALUES,
        statement="If all values are equal, the bias has no gradient.",
        formula="V[j] = v for all j: dbias = 0",
    ),
    replace(
        MASK_VALUE,
        formula="dbias with P = softmax over the visible keys, 0 elsewhere",
        derivation=DERIVATION,
        steps=_LOGITS,
    ),
    HIDDEN_ENTRIES,
    replace(MASKED_CONTENT, formula="mask[:, j] False: dbias is the same for every K[j], V[j]"),
    BROADCAST,
    replace(
        EMPTY_ROW,
        statement="A query whose output is zero because it sees no key adds nothing to the bias's gradient.",
        formula="empty_row zeros, no visible j: dbias is that without row i",
    ),
    replace(
        FUTURE,
        key="causal.hidden_entries",
        statement="Under the causal flag the bias of a later key has no gradient.",
        formula="key j later than query i: dbias[i, j] = 0",
        derivation=DERIVATION,
        steps=_HIDDEN,
        conventions=("causal_alignment",),
    ),
    UNEQUAL_LENGTHS,
    EXPLICIT_CAUSAL,
    WITH_PADDING,
    replace(
        CAUSAL_EMPTY_ROW,
        statement="A query whose output is zero because the causal flag hides all keys adds nothing to the gradient.",
        formula="bottom_right, i + S − L < 0, empty_row zeros: dbias is that without row i",
    ),
    replace(
        BATCH_INDEPENDENCE,
        statement="The gradient of a sample's own bias does not depend on the other samples of the batch.",
    ),
    replace(HEAD_INDEPENDENCE, statement="The gradient of a head's own bias does not depend on the other heads."),
    replace(
        QUERY_PERMUTATION,
        statement="Reordering queries, output gradients and the rows of the bias together only reorders its gradient.",
        formula="g(P Q, K, V, P dO; P bias) = P g(Q, K, V, dO; bias)",
    ),
    replace(
        KEY_PERMUTATION,
        statement="Reordering keys, values and the columns of the bias together only reorders the gradient.",
        formula="g(Q, P K, P V, dO; bias Pᵀ) = g(Q, K, V, dO; bias) Pᵀ",
    ),
    replace(
        WINDOW_VALUE,
        formula="dbias with P = softmax over i − left ≤ j ≤ i + right, 0 elsewhere",
        steps=(
            "The gradient of the logits: dS = P ∘ (dP − D)",
            "A masked logit has no gradient",
        ),
    ),
    replace(SINKS_VALUE, formula="dbias with P_ij = e^(z_ij) / (e^(σ_h) + Σ_j' e^(z_ij'))"),
    replace(
        ALL_TOGETHER,
        statement="The gradient is that of scale, soft cap, bias, mask, window and sinks in this order.",
        formula="dbias with P = softmax([cap(s q·k) + bias where mask and window show the key, σ])",
        features=("scale", "softcap", "mask", "window", "sinks"),
    ),
    *EVERY_BACKWARD_PASS,
)

GRAD_SINKS = Property(
    key="grad_sinks",
    statement="The gradient of a sink is minus the sum of its weights times the products of outputs and gradients.",
    formula=f"{_SINKS}, dP = dO Vᵀ, summed over samples and queries",
    source=f"{GPT_OSS}, by the chain rule",
    derivation=DERIVATION,
    steps=_SINK,
)
SAMPLES_SUM = Property(
    key="samples.sum",
    statement="The gradient of a sink is the sum of those of the samples alone.",
    formula="g(inputs) = g(inputs[:1]) + g(inputs[1:])",
    source="all samples share the sinks",
    derivation=DERIVATION,
    steps=_SINK,
)
NO_VALUES = Property(
    key="values.zero",
    statement="If all values are zero, a sink has no gradient.",
    formula="V = 0: dσ = 0",
    source="the output is 0 whatever weight the sink takes",
    derivation=DERIVATION,
    steps=_FROM_OUTPUT,
)
NEGLIGIBLE = Property(
    key="sinks.negligible",
    statement="A sink far below all logits has no gradient.",
    formula="σ → −∞: dσ → 0",
    source=f"{GPT_OSS}; its weight tends to 0",
    derivation="sinks",
    steps=("A sink of −∞ has no effect",),
)
PER_HEAD = Property(
    key="sinks.per_head",
    statement="Reordering heads and sinks together reorders the gradient in the same way.",
    formula="g(Q[π], K[π], V[π], dO[π]; σ[π]) = g(Q, K, V, dO; σ)[π]",
    source=f"{GPT_OSS}: a sink of its own for each head",
    derivation=DERIVATION,
    steps=_SINK,
)

_OF_SINKS = (
    GRAD_SINKS,
    SAMPLES_SUM,
    NO_VALUES,
    NEGLIGIBLE,
    PER_HEAD,
    replace(
        EXPLICIT_SCALE,
        statement="An explicit scale enters the weights, and is no factor of a sink's gradient.",
        formula=f"{_SINKS} with P = softmax([s Q Kᵀ, σ])",
        derivation=DERIVATION,
        steps=_SINK,
    ),
    replace(
        SOFTCAP_SLOPE,
        key="softcap.value",
        statement="A soft cap enters the weights, and is no factor of a sink's gradient: a sink is not capped.",
        formula=f"{_SINKS} with P = softmax([c tanh(s Q Kᵀ / c), σ])",
        source="docs/interface.md: a sink is neither scaled nor capped",
        derivation=DERIVATION,
        steps=_SINK,
    ),
    replace(VALUE_WIDTH, formula="Dv ≠ D: dP = dO Vᵀ is a sum over Dv components"),
    replace(LARGE_LOGITS, formula="|logits| > 88: dσ is finite and equals the formula"),
    replace(
        MASK_VALUE,
        statement="Under a mask a sink shares the weights with the visible keys alone.",
        formula=f"{_SINKS} with P = softmax over the visible keys and the sink",
        derivation=DERIVATION,
        steps=_SINK,
    ),
    replace(MASKED_CONTENT, formula="mask[:, j] False: dσ is the same for every K[j], V[j]"),
    BROADCAST,
    replace(
        EMPTY_ROW,
        statement="A query that sees no key has the output zero whatever the sink is, and adds nothing.",
        formula="no visible j: dσ is that without row i",
        source="the sink takes all the weight, and the output stays 0 whatever the sink is",
        derivation=DERIVATION,
        steps=_FROM_OUTPUT,
        reason=None,
        conventions=(),
    ),
    UNEQUAL_LENGTHS,
    EXPLICIT_CAUSAL,
    WITH_PADDING,
    replace(
        HEAD_INDEPENDENCE,
        statement="The gradient of a head's sink does not depend on the other heads.",
    ),
    replace(
        QUERY_PERMUTATION,
        statement="Reordering queries and output gradients together does not change the gradient of a sink.",
        formula="g(P Q, K, V, P dO) = g(Q, K, V, dO)",
    ),
    replace(
        KEY_PERMUTATION,
        statement="Reordering keys and values together does not change the gradient of a sink.",
        formula="g(Q, P K, P V, dO) = g(Q, K, V, dO)",
    ),
    replace(
        BIAS_VALUE,
        statement="A bias enters the weights that give a sink its gradient, and its entries of −∞ hide keys.",
        formula=f"{_SINKS} with P = softmax([s Q Kᵀ + bias, σ])",
        derivation=DERIVATION,
        steps=_SINK,
    ),
    replace(
        WINDOW_VALUE,
        statement="Under a window a sink shares the weights with the keys near the query's position alone.",
        formula=f"{_SINKS} with P = softmax over i − left ≤ j ≤ i + right and the sink",
        derivation=DERIVATION,
        steps=_SINK,
    ),
    replace(
        ALL_TOGETHER,
        statement="The gradient is that of scale, soft cap, bias, mask, window and sinks in this order.",
        formula=f"{_SINKS} with P = softmax([cap(s q·k) + bias where mask and window show the key, σ])",
        features=("scale", "softcap", "bias", "mask", "window"),
    ),
    *EVERY_BACKWARD_PASS,
)

LAWS = (*state(_OF_BIAS, ATTENTION_BIAS_BACKWARD), *state(_OF_SINKS, ATTENTION_SINKS_BACKWARD))
