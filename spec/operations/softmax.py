"""Softmax, which turns logits into weights."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

SOFTMAX = Operation(
    name="softmax",
    prefix="softmax",
    summary="Turn each row of logits into a probability distribution.",
    parameters=(
        Parameter(
            "x",
            "(..., n)",
            "float",
            "positional",
            "logits",
            also_called="logits input inputs z scores s a t tensor row e values u",
        ),
    ),
    result="(..., n)",
    formula="softmax(x)_i = exp(x_i − max x) / Σ_j exp(x_j − max x), over the last axis",
    source="Vaswani et al. 2017, section 3.2.1; Bridle 1990",
    conventions=("softmax_dtype", "numerics"),
    place=1,
    also_called="softmax softmaxlastaxis rowsoftmax softmaxrows smax",
)

OPERATIONS = (SOFTMAX,)
