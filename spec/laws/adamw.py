"""Laws of a step of AdamW."""

from __future__ import annotations

from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.adamw import ADAMW_STEP

ADAM = "Kingma & Ba 2015, algorithm 1"
DECOUPLED = "Loshchilov & Hutter 2019, algorithm 2"
_BOTH = ("adamw_eps", "adamw_decay")

VALUE = Property(
    key="value",
    statement="The parameter moves by the corrected first moment over the root of the corrected second, and decays.",
    formula="p = p₀ (1 − ηλ) − η · m/(1 − β₁ᵗ) / (√(v/(1 − β₂ᵗ)) + ε)",
    source=f"{DECOUPLED}; {ADAM}",
    reason="the definition",
    conventions=_BOTH,
)
FIRST_MOMENT = Property(
    key="first_moment",
    statement="The first moment keeps the share β₁ of itself and takes the rest from the gradient.",
    formula="m = β₁ m₀ + (1 − β₁) g",
    source=ADAM,
    reason="the definition; it is returned as it is, without the correction",
)
SECOND_MOMENT = Property(
    key="second_moment",
    statement="The second moment keeps the share β₂ of itself and takes the rest from the gradient's square.",
    formula="v = β₂ v₀ + (1 − β₂) g²",
    source=ADAM,
    reason="the definition; it is returned as it is, without the correction",
)
FIRST_STEP = Property(
    key="first_step",
    statement="The first step moves each entry against its gradient, by nearly the learning rate and never by more.",
    formula="t = 1, m₀ = v₀ = 0, λ = 0: p = p₀ − η g/(|g| + ε)",
    source=f"{ADAM}; section 2.1: the effective step is bounded by the learning rate",
    derivation="adamw",
    steps=("The first step is that of the sign", "No first step is longer than the learning rate"),
    conventions=("adamw_eps",),
)
CONSTANT_GRADIENT = Property(
    key="constant_gradient",
    statement="If all gradients so far were equal, every step is as long as the first.",
    formula="m₀ = (1 − β₁ᵗ⁻¹) g, v₀ = (1 − β₂ᵗ⁻¹) g², λ = 0: p = p₀ − η g/(|g| + ε)",
    source=f"{ADAM}; section 3: the correction of the bias towards zero",
    derivation="adamw",
    steps=(
        "Equal gradients leave their share of the first moment",
        "The corrected first moment of equal gradients is the gradient",
        "The corrected second moment of equal gradients is the square",
    ),
    conventions=("adamw_eps",),
)
DECAY_ALONE = Property(
    key="decay.alone",
    statement="Without gradients, now and before, a parameter does nothing but decay.",
    formula="g = m₀ = v₀ = 0: p = (1 − ηλ) p₀, m = v = 0",
    source=DECOUPLED,
    derivation="adamw",
    steps=("Without gradients only the decay is left",),
    conventions=("adamw_decay",),
)
DECAY_APART = Property(
    key="decay.apart",
    statement="Weight decay takes the same share of every parameter, however large its gradients are.",
    formula="f(…; λ) − f(…; 0) = −ηλ p₀",
    source=f"{DECOUPLED}: the decay is decoupled from the gradient-based update",
    derivation="adamw",
    steps=("The decay is added to the update",),
    conventions=("adamw_decay",),
)
DECAY_NOT_IN_MOMENTS = Property(
    key="decay.not_in_moments",
    statement="Neither the parameter nor the weight decay has an influence on the moments.",
    formula="∂m/∂p₀ = ∂m/∂λ = ∂v/∂p₀ = ∂v/∂λ = 0",
    source=DECOUPLED,
    derivation="adamw",
    steps=("The moments do not depend on the parameter",),
)
SCALE = Property(
    key="scale",
    statement="The scale of the loss has no influence on the step, if eps has the same scale.",
    formula="f(p, c g, c m, c² v; c ε) = f(p, g, m, v; ε) in the parameter, c > 0",
    source="Kingma & Ba 2015, section 2.1: the steps are invariant to the scale of the gradients",
    derivation="adamw",
    steps=("The scale of the gradients cancels",),
)
ODDNESS = Property(
    key="oddness",
    statement="Negating parameter, gradient and first moment negates the results, but for the second moment.",
    formula="f(−p, −g, −m, v) = (−p′, −m′, v′)",
    source="the square of a gradient does not depend on its sign",
    derivation="adamw",
    steps=("The update is odd",),
)
INDEPENDENCE = Property(
    key="entries.independence",
    statement="No entry has an influence on another.",
    formula="i ≠ k: ∂p′_i/∂g_k = ∂p′_i/∂p_k = ∂p′_i/∂m_k = ∂p′_i/∂v_k = 0",
    source=f"{ADAM}: all operations on vectors are element-wise",
    derivation="adamw",
    steps=("No dependence on another entry",),
)

ADAMW_LAWS = (
    VALUE,
    FIRST_MOMENT,
    SECOND_MOMENT,
    FIRST_STEP,
    CONSTANT_GRADIENT,
    DECAY_ALONE,
    DECAY_APART,
    DECAY_NOT_IN_MOMENTS,
    SCALE,
    ODDNESS,
    INDEPENDENCE,
)

LAWS = state((WORKED_EXAMPLES, *ADAMW_LAWS), ADAMW_STEP)
