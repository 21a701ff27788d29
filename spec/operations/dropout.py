"""Dropout."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

SOURCE = "Srivastava et al. 2014, sections 4 and 10; Vaswani et al. 2017, section 5.4"
DROPOUT = Operation(
    name="dropout",
    prefix="dropout",
    summary="Replace each entry by zero with probability p, and divide the others by 1 − p, during training.",
    parameters=(
        Parameter("x", "(...)", "float", "positional", "entries, each kept or dropped on its own"),
        Parameter("rate", "", "scalar", "keyword", "p, the probability that an entry is dropped, 0 ≤ p < 1"),
        Parameter("seed", "", "scalar", "keyword", "an integer from 0 on, which all random numbers are made from"),
        Parameter("training", "", "flag", "feature", "True by default; in evaluation the result is x"),
    ),
    result="(...)",
    formula="x m / (1 − p), m = 0 with probability p and else 1, independently for each entry; x in evaluation",
    source=SOURCE,
    # In evaluation libraries return x itself; of training there is a law of its own.
    keeps_results=False,
    random=True,
    place=31,
)

OPERATIONS = (DROPOUT,)
