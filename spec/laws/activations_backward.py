"""Laws of the gradients of GELU and SiLU."""

from __future__ import annotations

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.activations_backward import GELU_BACKWARD, SILU_BACKWARD

PRODUCT_RULE = "the product rule for x g(x), g the gate: f′ = g + x g′"
GRAD_GELU = Property(
    key="grad_x",
    statement="The gradient of an entry is that of its output times the derivative of the form of GELU.",
    formula="dx = dO (Φ(x) + x φ(x)), or dO (g + x g (1 − g) z′), g = σ(z), z = √(8/π) (x + 0.044715 x³) or 1.702 x",
    source=PRODUCT_RULE,
    derivation="gated_activations",
    steps=("The derivative of x σ(β x)", "The derivative of x Φ(x)", "The derivative of x σ(z(x))"),
    conventions=("gelu_form",),
)
GRAD_SILU = Property(
    key="grad_x",
    statement="The gradient of an entry is that of its output times the derivative of SiLU.",
    formula="dx = dO (σ(x) + x σ(x) (1 − σ(x)))",
    source=PRODUCT_RULE,
    derivation="gated_activations",
    steps=("The derivative of x σ(β x)",),
)
REFLECTION = Property(
    key="reflection",
    statement="Opposite entries whose outputs have the same gradient have gradients that sum to it.",
    formula="dx(x, dO) + dx(−x, dO) = dO",
    source="the derivative of f(x) − f(−x) = x",
    derivation="gated_activations",
    steps=(
        "The slope of the logistic gate is even",
        "The derivatives of x σ(β x) at x and −x sum to one",
        "The derivatives of x Φ(x) at x and −x sum to one",
    ),
)
ZERO = Property(
    key="zero",
    statement="An entry of zero passes on half of its output's gradient.",
    formula="x = 0: dx = dO / 2",
    source="the gate is 1/2 there",
    derivation="gated_activations",
    steps=("The derivative of x σ(x) at zero is one half", "The derivative of x Φ(x) at zero is one half"),
)
TAILS = Property(
    key="tails",
    statement="Far from zero a positive entry passes its output's gradient on, and a negative one passes nothing on.",
    formula="dx → dO for x → ∞, dx → 0 for x → −∞",
    source="the gate tends to 1 or 0, and its slope to 0 faster than x grows",
    derivation="gated_activations",
    steps=(
        "The derivative of x σ(x) vanishes on the left",
        "The derivative of x σ(x) becomes one on the right",
        "The derivative of x Φ(x) vanishes on the left",
        "The derivative of x Φ(x) becomes one on the right",
    ),
)
ELEMENTWISE = Property(
    key="elementwise",
    statement="An entry's gradient does not depend on the other entries or their outputs' gradients.",
    formula="dx(x, dO)[i] = dx(x[i], dO[i])",
    source=PRODUCT_RULE,
    reason="the formula has one entry and one gradient as its arguments",
)
_BOTH = (REFLECTION, ZERO, TAILS, ELEMENTWISE, *EVERY_BACKWARD_PASS)

LAWS = (*state((GRAD_GELU, *_BOTH), GELU_BACKWARD), *state((GRAD_SILU, *_BOTH), SILU_BACKWARD))
