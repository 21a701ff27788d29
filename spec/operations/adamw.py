"""One step of the optimizer AdamW."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

ADAMW_STEP = Operation(
    name="adamw_step",
    prefix="adamw",
    summary="Move a parameter against its averaged gradient, measured by how large gradients were, and shrink it.",
    parameters=(
        Parameter("parameter", "(...)", "float", "positional", "before the step"),
        Parameter("gradient", "(...)", "float", "positional", "the loss's gradient by the parameter"),
        Parameter("first_moment", "(...)", "float", "positional", "running mean of gradients, 0 before step 1"),
        Parameter("second_moment", "(...)", "float", "positional", "running mean of their squares, 0 before step 1"),
        Parameter("step", "", "scalar", "keyword", "t, the number of this step, counted from 1"),
        Parameter("learning_rate", "", "scalar", "keyword", "η"),
        Parameter("beta1", "", "scalar", "keyword", "β₁, the share of the first moment that stays"),
        Parameter("beta2", "", "scalar", "keyword", "β₂, the share of the second moment that stays"),
        Parameter("eps", "", "scalar", "keyword", "ε, added to the root of the second moment"),
        Parameter("weight_decay", "", "scalar", "keyword", "λ, the parameter loses the share ηλ of itself"),
    ),
    result="((...), (...), (...))",
    formula="m = β₁ first_moment + (1 − β₁) g, v = β₂ second_moment + (1 − β₂) g², "
    "parameter (1 − ηλ) − η · m/(1 − β₁ᵗ) / (√(v/(1 − β₂ᵗ)) + ε), m, v",
    source="Loshchilov & Hutter 2019, algorithm 2 (decay); Kingma & Ba 2015, algorithm 1 (moments, correction)",
    conventions=("adamw_eps", "adamw_decay"),
    results=("parameter", "first_moment", "second_moment"),
    place=40,
)

OPERATIONS = (ADAMW_STEP,)
