"""Laws of soft caps."""

from __future__ import annotations

from veriformer.spec.laws.law import Property

GEMMA = "Gemma Team 2024 (Gemma 2), section 2"
ORDER = "ONNX Attention since 1.22, node order"

SOFTCAP_VALUE = Property(
    key="softcap.value",
    statement="A soft cap c replaces each scaled logit z by c tanh(z / c).",
    formula="f(Q, K, V; softcap = c) = softmax(c tanh(Q Kᵀ / (c √D))) V",
    source=GEMMA,
    reason="the definition of the parameter",
    features=("softcap",),
)
SOFTCAP_OFF = Property(
    key="softcap.off",
    statement="A soft cap of zero has no effect.",
    formula="f(…; softcap = 0) = f(…)",
    source=f"{ORDER}: softcap 0 means none; docs/interface.md",
    reason="the definition of the parameter: c → 0 would make all logits 0",
    features=("softcap",),
)
SOFTCAP_LARGE = Property(
    key="softcap.large",
    statement="A soft cap far above all logits changes nothing.",
    formula="c → ∞: c tanh(z / c) → z",
    source=GEMMA,
    derivation="softcap",
    steps=("A large cap is none",),
    features=("softcap",),
)
SOFTCAP_BOUNDED = Property(
    key="softcap.bounded",
    statement="No weight exceeds another of its row by more than e^(2c), however large the logits.",
    formula="e^(−2c) ≤ w_ij / w_ij' ≤ e^(2c), so 1 / (1 + (S − 1) e^(2c)) ≤ w_ij ≤ 1 / (1 + (S − 1) e^(−2c))",
    source=GEMMA,
    derivation="softcap",
    steps=("So no weight exceeds another by more than e^(2c)",),
    features=("softcap",),
)
SOFTCAP_AFTER_SCALE = Property(
    key="softcap.after_scale",
    statement="The soft cap is applied to the scaled logits.",
    formula="c tanh(s q·k / c), not s c tanh(q·k / c)",
    source=ORDER,
    reason="the definition of the parameter: the order is scale, soft cap, bias, mask",
    features=("softcap", "scale"),
)
SOFTCAP_BEFORE_BIAS = Property(
    key="softcap.before_bias",
    statement="The soft cap is applied before the bias is added.",
    formula="c tanh(z / c) + bias, not c tanh((z + bias) / c)",
    source=ORDER,
    reason="the definition of the parameter: the order is scale, soft cap, bias, mask",
    features=("softcap", "bias"),
)
SOFTCAP_BEFORE_MASK = Property(
    key="softcap.before_mask",
    statement="The soft cap is applied before the mask: a masked key keeps the weight zero.",
    formula="mask[i, j] False: w_ij = 0, not e^(−c) / Σ",
    source=f"{ORDER}; onnx/onnx#7867",
    derivation="softcap",
    steps=(
        "Applied before the mask it leaves a masked key the weight zero",
        "Applied after the mask it would give a masked key weight",
    ),
    features=("softcap", "mask"),
    conventions=("softcap_order",),
)

SOFTCAP_LAWS = (
    SOFTCAP_VALUE,
    SOFTCAP_OFF,
    SOFTCAP_LARGE,
    SOFTCAP_BOUNDED,
    SOFTCAP_AFTER_SCALE,
    SOFTCAP_BEFORE_BIAS,
    SOFTCAP_BEFORE_MASK,
)
# The bound is read off by values.
SOFTCAP_LAWS_OF_WEIGHTS = tuple(law for law in SOFTCAP_LAWS if law is not SOFTCAP_BOUNDED)
