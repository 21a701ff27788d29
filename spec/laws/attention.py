"""Laws of attention that concern scale, values, grouped heads, and keys without a mask."""

from __future__ import annotations

from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.masking import ADDITIVE, CAUSAL_LAWS, COMPOSITION, LOW_LOGITS, MASK_LAWS, NO_SHARE
from veriformer.spec.laws.sinks import SINK_LAWS, SINK_LAWS_OF_WEIGHTS
from veriformer.spec.laws.softcap import SOFTCAP_LAWS, SOFTCAP_LAWS_OF_WEIGHTS
from veriformer.spec.laws.softmax import DISTRIBUTION, LARGE_LOGITS
from veriformer.spec.laws.symmetry import HEADS, ORDER, SAMPLES
from veriformer.spec.laws.windows import WINDOW_LAWS, WINDOW_LAWS_OF_WEIGHTS
from veriformer.spec.operations.attention import (
    ATTENTION_WEIGHTS,
    GROUPED_QUERY_ATTENTION,
    SCALED_DOT_PRODUCT_ATTENTION,
)

VASWANI = "Vaswani et al. 2017, section 3.2.1"
AINSLIE = "Ainslie et al. 2023, section 2.2"
_OVERFLOWS = "ultralytics/ultralytics#24990, mlc-ai/mlc-llm#1638: unscaled products overflow float16"
SEED_HULL = "seed document 004: each z_i is given by a convex combination of the V_j's"
SCALE = Property(
    key="scale",
    statement="Logits are divided by the square root of the query/key width.",
    formula="f(Q, K, V) = softmax(Q Kᵀ / √D) V",
    source=f"{VASWANI}, equation 1 and footnote 4; seed document 004, footnote on scaling",
    reason="the definition; the derivation says why it is √D",
    motivation="variance_scaling",
    steps=("Division by √d_k",),
)
EXPLICIT_SCALE = Property(
    key="explicit_scale",
    statement="An explicit scale replaces 1/√D.",
    formula="f(Q, K, V; scale = s) = softmax(s Q Kᵀ) V",
    source=f"{VASWANI}, equation 1, with 1/√D written as a parameter",
    reason="the definition of the parameter",
    features=("scale",),
)
SCALE_RANGE = Property(
    key="scale.range",
    statement="Products of queries and keys may leave the range of the dtype if the scale brings them back into it.",
    formula="f(2⁵ Q, 2⁵ K, V; scale = 2⁻¹²) = softmax(¼ Q Kᵀ) V, finite though 2¹⁰ |Q Kᵀ| > 65504, where float16 ends",
    source=f"{VASWANI}, equation 1: the scaled product is what enters the softmax; {_OVERFLOWS}",
    reason="exact arithmetic has no range; scaling first, or accumulating in float32, keeps float16 inside its own",
    obligation="should",
    features=("scale",),
)
VALUE_WIDTH = Property(
    key="value_width",
    statement="Values may be wider or narrower than queries and keys.",
    formula="Dv ≠ D: f(Q, K, V) = softmax(Q Kᵀ / √D) V",
    source=f"{VASWANI}: queries and keys of dimension d_k, values of dimension d_v; seed document 003",
    reason="D and Dv are separate symbols in the formula",
)
SINGLE_KEY = Property(
    key="single_key",
    statement="With one key the output is its value, for every query.",
    formula="S = 1: f(q, k, v) = v",
    source="seed document 003: where each row sums to 1 (hence a₁₁ = 1)",
    derivation="convex_hull",
    steps=("A single key gives its value",),
)
SINGLE_QUERY = Property(
    key="single_query",
    statement="One query among many keys is answered like any other.",
    formula="L = 1: f(q, K, V) = softmax(q Kᵀ / √D) V",
    source=f"{VASWANI}, equation 1",
    derivation="permutation",
    steps=("Permuting the queries permutes the outputs",),
)
FAINT_KEY = Property(
    key="scale.faint_key",
    statement="A key far below the largest keeps its exact share: the exponential of the distance of its scaled logit.",
    formula="V = 0 but for V[j]: f(Q, K, V)[i] = e^(z_j − max z) V[j] / Σ e^(z − max z), e^(−64) as well as e^(−1)",
    source=f"{VASWANI}, equation 1; a share δ of the logits is a share δ (max z − z_j) of the output",
    derivation="attention_rounding",
    steps=("The output where only one key has a value, and it lies d below the other",),
)
HULL = Property(
    key="values.hull",
    statement="Each output component lies between the smallest and the largest value it averages.",
    formula="min_j V[j, c] ≤ f(Q, K, V)[i, c] ≤ max_j V[j, c]",
    source=SEED_HULL,
    derivation="convex_hull",
    steps=("A half-space that contains all values contains the output",),
)
CONSTANT_VALUES = Property(
    key="values.constant",
    statement="If all values are equal, the output is that value: the weights sum to one.",
    formula="V[j] = v for all j: f(Q, K, V)[i] = v",
    source=SEED_HULL,
    derivation="convex_hull",
    steps=("Equal values are reproduced",),
)
LINEAR_IN_VALUES = Property(
    key="values.linear",
    statement="The output is linear in the values.",
    formula="f(Q, K, a V + b W) = a f(Q, K, V) + b f(Q, K, W)",
    source="seed document 002: f(ax + by) = af(x) + bf(y), true of the values only",
    derivation="convex_hull",
    steps=("The output is linear in the values",),
)
EQUAL_KEYS = Property(
    key="keys.equal",
    statement="If all keys are equal, every query averages all values with equal weights.",
    formula="K[j] = k for all j: weights = 1/S",
    source=f"{VASWANI}, equation 1",
    derivation="convex_hull",
    steps=("Equal keys give the mean of the values, whatever the query",),
)
KEY_SHIFT = Property(
    key="keys.shift",
    statement="Adding one vector to every key changes nothing.",
    formula="f(Q, K + 1 cᵀ, V) = f(Q, K, V): each row of logits moves by q·c / √D",
    source="shift invariance of softmax, equation 1 of Vaswani et al. 2017",
    derivation="inner_products",
    steps=("One vector added to every key moves a row of scores by one number",),
)
COMPONENT_ORDER = Property(
    key="components.permutation",
    statement="Reordering and reflecting the components of queries and keys in the same way changes nothing.",
    formula="f(Q P, K P, V) = f(Q, K, V) for every signed permutation P, because P Pᵀ = 1",
    source="the inner product in equation 1 of Vaswani et al. 2017",
    derivation="inner_products",
    steps=(
        "Components of queries and keys in another order have the same inner products",
        "Components reflected in both have the same inner products",
    ),
)
VALUE_COMPONENTS = Property(
    key="values.components",
    statement="Reordering the components of the values reorders those of the output in the same way.",
    formula="f(Q, K, V P) = f(Q, K, V) P for every permutation P",
    source="the weights in equation 1 of Vaswani et al. 2017 do not depend on the component",
    derivation="inner_products",
    steps=("A linear map of the values is one of the output",),
)
DUPLICATED_KEY = Property(
    key="keys.duplicated",
    statement="Giving a key and its value twice equals adding log 2 to that key's logits.",
    formula="f(Q, [K; K_j], [V; V_j]) = f(Q, K, V; bias[:, j] = log 2)",
    source="e^(z + log 2) = 2 e^z in equation 1 of Vaswani et al. 2017",
    derivation="masking",
    steps=("A key that occurs twice has a bias of log 2",),
    features=("bias",),
)
ALL_KEYS_TWICE = Property(
    key="keys.all_twice",
    statement="Repeating every key with its value changes nothing.",
    formula="f(Q, [K; K], [V; V]) = f(Q, K, V)",
    source="numerator and denominator of equation 1 of Vaswani et al. 2017 both double",
    derivation="masking",
    steps=("When every key occurs twice nothing changes",),
)
BIAS_VALUE = Property(
    key="bias.value",
    statement="A bias is added to the scaled logits, itself unscaled.",
    formula="f(Q, K, V; bias = B) = softmax(Q Kᵀ / √D + B) V",
    source="seed document 001 prints (QKᵀ + M)/√d_k, which is right for M ∈ {0, −∞} only",
    reason="the definition",
    features=("bias",),
)
BIAS_ROW_SHIFT = Property(
    key="bias.row_shift",
    statement="Adding one number to the whole row of a query's bias changes nothing.",
    formula="f(…; bias = B + c 1ᵀ) = f(…; bias = B)",
    source="shift invariance of softmax",
    derivation="masking",
    steps=("Adding a constant to a whole row of the bias changes nothing",),
    features=("bias",),
)
REPEATED_HEADS = Property(
    key="repeated_heads",
    statement="Grouped heads equal attention with each key/value head repeated.",
    formula="f(Q, K, V) = f(Q, repeat_each(K, H/G), repeat_each(V, H/G))",
    source=AINSLIE,
    derivation="grouped_query",
    steps=("Grouped attention is attention with each key/value head repeated γ times",),
    conventions=("kv_grouping",),
)
ONE_HEAD_EACH = Property(
    key="one_head_each",
    statement="With as many key/value heads as query heads it is plain attention.",
    formula="G = H: f(Q, K, V) = attention(Q, K, V)",
    source=AINSLIE,
    derivation="grouped_query",
    steps=("As many groups as heads: head h reads head h",),
)
SHARED_HEAD = Property(
    key="shared_head",
    statement="With one key/value head every query head reads it.",
    formula="G = 1: f(Q, K, V)[h] = attention(Q_h, K_0, V_0)",
    source="Shazeer 2019 (multi-query attention)",
    derivation="grouped_query",
    steps=("One group (multi-query): every head reads head 0",),
)
GROUPED_LAWS = (REPEATED_HEADS, ONE_HEAD_EACH, SHARED_HEAD)


_COMMON = (SCALE, SINGLE_KEY, SINGLE_QUERY, LARGE_LOGITS)
_PER_HEAD = (
    EXPLICIT_SCALE,
    SCALE_RANGE,
    EQUAL_KEYS,
    FAINT_KEY,
    BIAS_VALUE,
    BIAS_ROW_SHIFT,
    KEY_SHIFT,
    COMPONENT_ORDER,
    ADDITIVE,
    LOW_LOGITS,
    COMPOSITION,
)
_AVERAGES = (
    *(HULL, CONSTANT_VALUES, LINEAR_IN_VALUES, VALUE_COMPONENTS, DUPLICATED_KEY),
    *(NO_SHARE, ALL_KEYS_TWICE, VALUE_WIDTH),
)
_MODERN = (*WINDOW_LAWS, *SOFTCAP_LAWS, *SINK_LAWS)
_MODERN_OF_WEIGHTS = (*WINDOW_LAWS_OF_WEIGHTS, *SOFTCAP_LAWS_OF_WEIGHTS, *SINK_LAWS_OF_WEIGHTS)
_MASKS_AND_SYMMETRY = (*MASK_LAWS, *CAUSAL_LAWS, *SAMPLES, *ORDER, *HEADS)
_OF_OUTPUTS = (*_COMMON, *_PER_HEAD, *_AVERAGES, *_MODERN, *_MASKS_AND_SYMMETRY)
_OF_WEIGHTS = (*DISTRIBUTION, *_COMMON, *_PER_HEAD, *_MODERN_OF_WEIGHTS, *_MASKS_AND_SYMMETRY)

LAWS = (
    *state((WORKED_EXAMPLES, *_OF_OUTPUTS), SCALED_DOT_PRODUCT_ATTENTION),
    *state((*_OF_OUTPUTS, *GROUPED_LAWS), GROUPED_QUERY_ATTENTION),
    *state((WORKED_EXAMPLES, *_OF_WEIGHTS), ATTENTION_WEIGHTS),
)
