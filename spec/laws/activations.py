"""Laws of the activation functions that have a gate."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.activations import GELU, SILU

HENDRYCKS = "Hendrycks & Gimpel 2016, section 2"
GELU_VALUE = Property(
    key="value",
    statement="Each entry is multiplied by the normal distribution function, or by its stated approximation.",
    formula="x Φ(x), or x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, or x σ(1.702 x)",
    source=HENDRYCKS,
    reason="the definition",
    conventions=("gelu_form",),
)
SILU_VALUE = Property(
    key="value",
    statement="Each entry is multiplied by its logistic function.",
    formula="x / (1 + e^(−x))",
    source=HENDRYCKS,
    reason="the definition",
)
ZERO = Property(
    key="zero",
    statement="Zero stays zero.",
    formula="f(0) = 0",
    source="zero times a finite gate",
    derivation="gated_activations",
    steps=(
        "The gate is not negative, so the result has the sign of the input",
        "The gate is not above one, so the result does not go beyond the input",
        "The gate Φ is not negative either",
        "The gate Φ is not above one either",
    ),
)
REFLECTION = Property(
    key="reflection",
    statement="The result of an entry minus the result of its negation is the entry itself.",
    formula="f(x) − f(−x) = x",
    source="the gates of x and −x sum to one: Φ(x) + Φ(−x) = 1, σ(x) + σ(−x) = 1",
    derivation="gated_activations",
    steps=(
        "x σ(β x): the results at x and −x differ by x",
        "x Φ(x): the results at x and −x differ by x",
    ),
)
BETWEEN = Property(
    key="between",
    statement="The result lies between zero and the entry.",
    formula="min(0, x) ≤ f(x) ≤ max(0, x)",
    source="the gate lies between 0 and 1",
    derivation="gated_activations",
    steps=(
        "The gate is not negative, so the result has the sign of the input",
        "The gate is not above one, so the result does not go beyond the input",
        "The gate Φ is not negative either",
        "The gate Φ is not above one either",
    ),
)
INCREASING = Property(
    key="increasing",
    statement="The larger of two non-negative entries has the larger result.",
    formula="0 ≤ x ≤ z: f(x) ≤ f(z)",
    source="the gate increases",
    derivation="gated_activations",
    steps=(
        "The derivative of x σ(β x)",
        "x σ(β x) increases for positive x",
        "The derivative of x Φ(x)",
        "x Φ(x) increases for positive x",
    ),
)
TAILS = Property(
    key="tails",
    statement="Far from zero a positive entry stays as it is, and a negative one vanishes.",
    formula="f(x) − x → 0 for x → ∞, f(x) → 0 for x → −∞",
    source="the gate tends to 1 on the right, and to 0 faster than x grows on the left",
    derivation="gated_activations",
    steps=(
        "x σ(x) vanishes on the left",
        "x σ(x) becomes x on the right",
        "x Φ(x) vanishes on the left",
        "x Φ(x) becomes x on the right",
    ),
)
ELEMENTWISE = Property(
    key="elementwise",
    statement="An entry's result does not depend on the other entries.",
    formula="f(x)[i] = f(x[i])",
    source=HENDRYCKS,
    reason="the formula has one number as its argument",
)
_BOTH = (ZERO, REFLECTION, BETWEEN, INCREASING, TAILS, ELEMENTWISE)

LAWS = (*state((GELU_VALUE, *_BOTH), GELU), *state((SILU_VALUE, *_BOTH), SILU))
