"""Softmax, which turns logits into weights."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

SOFTMAX = Operation(
    name="softmax",
    prefix="softmax",
    summary="Turn each row of logits into a probability distribution.",
    parameters=(Parameter("x", "(..., n)", "float", "positional", "logits"),),
    result="(..., n)",
    formula="softmax(x)_i = exp(x_i − max x) / Σ_j exp(x_j − max x), over the last axis",
    source="Vaswani et al. 2017, section 3.2.1; Bridle 1990",
    conventions=("softmax_dtype", "numerics"),
    place=1,
)

OPERATIONS = (SOFTMAX,)
