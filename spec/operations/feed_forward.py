"""The activation functions, and the networks that are applied to each position alone."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

ENTRIES = Parameter("x", "(...)", "float", "positional", "entries, each on its own")
VECTORS = Parameter("x", "(..., E)", "float", "positional", "vectors along the last axis")
ACTIVATION = Parameter("activation", "", "scalar", "keyword", '"relu", "gelu" or "silu"')

GELU = Operation(
    name="gelu",
    prefix="gelu",
    summary="Weigh each entry by how probable it is that a standard normal variable lies below it.",
    parameters=(ENTRIES,),
    result="(...)",
    formula="x Φ(x) = x (1 + erf(x/√2)) / 2, or x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, or x σ(1.702 x)",
    source="Hendrycks & Gimpel 2016, section 2",
    conventions=("gelu_form",),
)

SILU = Operation(
    name="silu",
    prefix="silu",
    summary="Weigh each entry by its own logistic function.",
    parameters=(ENTRIES,),
    result="(...)",
    formula="x σ(x) = x / (1 + e^(−x))",
    source="Hendrycks & Gimpel 2016, section 2; Ramachandran et al. 2017 (Swish with β = 1)",
)

FEED_FORWARD = Operation(
    name="feed_forward",
    prefix="feed_forward",
    summary="Pass each position through two matrices with an activation in between.",
    parameters=(
        VECTORS,
        Parameter(
            "weights",
            "w_1 (E, F), w_2 (F, E), biases b_1 (F,), b_2 (E,)",
            "weights",
            "positional",
            "attributes; each bias is an array or None",
        ),
        ACTIVATION,
    ),
    result="(..., E)",
    formula="activation(x W_1 + b_1) W_2 + b_2",
    source="Vaswani et al. 2017, section 3.3, equation 2",
    conventions=("gelu_form",),
)

GATED_FEED_FORWARD = Operation(
    name="gated_feed_forward",
    prefix="gated_feed_forward",
    summary="Let one activated projection of each position gate another, and project the product back.",
    parameters=(
        VECTORS,
        Parameter(
            "weights",
            "w_gate (E, F), w_up (E, F), w_down (F, E)",
            "weights",
            "positional",
            "attributes; there are no biases",
        ),
        ACTIVATION,
    ),
    result="(..., E)",
    formula="(activation(x W_gate) ⊙ x W_up) W_down",
    source="Shazeer 2020, section 2",
    conventions=("gelu_form",),
)
