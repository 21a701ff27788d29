"""The networks that are applied to each position alone."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

VECTORS = Parameter(
    "x",
    "(..., E)",
    "float",
    "positional",
    "vectors along the last axis",
    also_called="input inputs hiddenstates h hidden z",
)
ACTIVATION = Parameter("activation", "", "scalar", "keyword", '"relu", "gelu" or "silu"')
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
    place=20,
    also_called=(
        "feedforward ffn mlp positionwisefeedforward ff feedforwardnetwork positionwiseffn "
        "pointwisefeedforward ffnlayer"
    ),
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
    place=21,
    also_called=(
        "gatedfeedforward swiglu geglu gatedmlp swigluffn glu llamamlp gatedffn swiglumlp ffnswiglu "
        "feedforwardswiglu geluglu gegluffn reglu geglumlp gluffn glumlp mlpswiglu mlpgeglu geglufeedforward "
        "swiglufeedforward"
    ),
)

OPERATIONS = (FEED_FORWARD, GATED_FEED_FORWARD)
