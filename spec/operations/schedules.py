"""Schedules of the learning rate: a rise, then half a cosine or an inverse root."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

WARMUP_COSINE = Operation(
    name="warmup_cosine_learning_rate",
    prefix="warmup_cosine",
    summary="Raise the learning rate in a straight line, then lower it along half a cosine.",
    parameters=(
        Parameter("step", "", "scalar", "positional", "t, an integer, counted from 0"),
        Parameter("peak", "", "scalar", "keyword", "the rate at the end of the warm-up, positive"),
        Parameter("least", "", "scalar", "keyword", "the rate at the end and after it, from 0 to the peak"),
        Parameter("warmup_steps", "", "scalar", "keyword", "W, an integer; 0 begins at the peak"),
        Parameter("total_steps", "", "scalar", "keyword", "T, an integer above W"),
    ),
    result="scalar",
    formula="peak · t/W for t < W; least + (peak − least) (1 + cos(π (t − W)/(T − W)))/2 for W ≤ t ≤ T; then least",
    source="Loshchilov & Hutter 2017 (SGDR), equation 5; Goyal et al. 2017, section 2.2 (warm-up)",
    conventions=("warmup_start",),
    place=42,
)
WARMUP_INVERSE_ROOT = Operation(
    name="warmup_inverse_root_learning_rate",
    prefix="inverse_root",
    summary="Raise the learning rate in a straight line, then lower it as the inverse root of the step.",
    parameters=(
        Parameter("step", "", "scalar", "positional", "t, an integer, counted from 1"),
        Parameter("d_model", "", "scalar", "keyword", "E, the width of the model"),
        Parameter("warmup_steps", "", "scalar", "keyword", "W, an integer of at least 1"),
    ),
    result="scalar",
    formula="E^(−1/2) · min(t^(−1/2), t · W^(−3/2))",
    source="Vaswani et al. 2017, section 5.3",
    place=43,
)

OPERATIONS = (WARMUP_COSINE, WARMUP_INVERSE_ROOT)
