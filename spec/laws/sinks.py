"""Laws of attention sinks, and of windows, soft caps and sinks together."""

from __future__ import annotations

from veriformer.spec.laws.law import Property

GPT_OSS = "OpenAI 2025 (gpt-oss model card), section 2.2"

SINKS_VALUE = Property(
    key="sinks.value",
    statement="A sink adds its exponential to the denominator of every row of its head.",
    formula="w_ij = e^(z_ij) / (e^(σ_h) + Σ_j' e^(z_ij'))",
    source=GPT_OSS,
    reason="the definition",
    features=("sinks",),
)
SINKS_EXTRA_KEY = Property(
    key="sinks.extra_key",
    statement="A sink equals one more key of logit σ and value zero.",
    formula="f(Q, K, V; sinks = σ) = f(Q, [K; 0], [V; 0]; bias = [0, σ])",
    source=GPT_OSS,
    derivation="sinks",
    steps=("A sink is one key more, of logit σ and value zero",),
    features=("sinks", "bias"),
)
SINKS_BELOW_ONE = Property(
    key="sinks.weights_below_one",
    statement="With a sink the weights sum to one minus the sink's own.",
    formula="V = 1: f(…; sinks = σ)[i] = 1 − e^σ / (e^σ + Σ_j e^(z_ij))",
    source="Miller 2023 (softmax plus one), σ = 0",
    derivation="sinks",
    steps=("The weights of the keys sum to one minus the sink's",),
    features=("sinks",),
)
SINKS_NEGLIGIBLE = Property(
    key="sinks.negligible",
    statement="A sink far below all logits changes nothing.",
    formula="σ → −∞: f(…; sinks = σ) → f(…)",
    source=GPT_OSS,
    derivation="sinks",
    steps=("A sink of −∞ has no effect",),
    features=("sinks",),
)
SINKS_EMPTY_ROW = Property(
    key="sinks.empty_row",
    statement="A query that may see no key gives all its weight to the sink: its output is zero.",
    formula="no visible j: f(…; sinks)[i] = 0, whatever the convention for rows without sinks",
    source="the sum over no keys; docs/interface.md",
    derivation="sinks",
    steps=("A query that sees no key returns zero",),
    features=("sinks", "mask"),
)
SINKS_UNSCALED = Property(
    key="sinks.unscaled",
    statement="A sink is not scaled.",
    formula="w_ij = e^(s q·k) / (e^σ + …), not e^(s σ)",
    source=f"{GPT_OSS}; docs/interface.md",
    reason="the definition of the parameter: a sink is a logit, not a product of query and key",
    features=("sinks", "scale"),
)
SINKS_UNCAPPED = Property(
    key="sinks.uncapped",
    statement="A sink is not capped.",
    formula="w_ij = e^(cap(z_ij)) / (e^σ + …), not e^(cap(σ))",
    source="docs/interface.md",
    reason="the definition of the parameter: the soft cap concerns the scaled logits",
    features=("sinks", "softcap"),
)
SINKS_HEADS = Property(
    key="sinks.per_head",
    statement="Each head has its own sink: reordering heads and sinks together reorders the outputs in the same way.",
    formula="f(Q[π], K[π], V[π]; sinks[π]) = f(Q, K, V; sinks)[π]",
    source=GPT_OSS,
    derivation="independence",
    steps=(
        "No dependence on queries of another head",
        "No dependence on keys of another head",
        "No dependence on values of another head",
    ),
    features=("sinks",),
)
ALL_TOGETHER = Property(
    key="order_of_steps",
    statement="Scale, soft cap, bias, mask, window and sinks apply together, in this order.",
    formula="softmax([cap(s q·k) + bias where mask and window show the key, σ]) [V; 0]",
    source="docs/interface.md; ONNX Attention-25, node order",
    reason="the order of the steps is part of the interface",
    features=("scale", "softcap", "bias", "mask", "window", "sinks"),
)

SINK_LAWS = (
    SINKS_VALUE,
    SINKS_EXTRA_KEY,
    SINKS_BELOW_ONE,
    SINKS_NEGLIGIBLE,
    SINKS_EMPTY_ROW,
    SINKS_UNSCALED,
    SINKS_UNCAPPED,
    SINKS_HEADS,
    ALL_TOGETHER,
)
# One key more would be one weight more.
SINK_LAWS_OF_WEIGHTS = tuple(law for law in SINK_LAWS if law is not SINKS_EXTRA_KEY)
