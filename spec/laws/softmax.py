"""Laws of softmax, and of anything that is a probability distribution."""

from __future__ import annotations

from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.softmax import SOFTMAX

SOURCE = "Vaswani et al. 2017, section 3.2.1; seed document 003: each row sums to 1"

NONNEGATIVE = Property(
    key="nonnegative",
    statement="No weight is negative.",
    formula="p_i ≥ 0",
    source=SOURCE,
    derivation="softmax",
    steps=("Weights are not negative",),
)
ROWS_SUM_TO_ONE = Property(
    key="rows_sum_to_one",
    statement="The weights of each row sum to one.",
    formula="Σ_j p_ij = 1",
    source=SOURCE,
    derivation="softmax",
    steps=("The weights of a row sum to 1",),
)
VALUE = Property(
    key="value",
    statement="Each entry is its exponential over the sum of the row's exponentials.",
    formula="softmax(x)_i = e^(x_i) / Σ_j e^(x_j)",
    source=SOURCE,
    reason="the definition",
)
SHIFT = Property(
    key="shift",
    statement="Adding one number to a whole row changes nothing.",
    formula="softmax(x + c) = softmax(x)",
    source="e^c cancels in the fraction",
    derivation="softmax",
    steps=("Adding a constant to all logits changes nothing",),
)
PERMUTATION = Property(
    key="permutation",
    statement="Reordering a row's entries reorders its weights in the same way.",
    formula="softmax(P x) = P softmax(x)",
    source="a sum does not depend on the order of its terms",
    derivation="softmax",
    steps=("Permuting the logits permutes the weights",),
)
MINUS_INFINITY = Property(
    key="minus_infinity",
    statement="An entry of −∞ gets the weight zero and leaves the others a softmax of their own.",
    formula="x_i = −∞: softmax(x)_i = 0, and the rest is softmax of the rest",
    source="Vaswani et al. 2017, section 3.2.3; seed document 001: −∞ makes softmax output 0",
    derivation="masking",
    steps=(
        "A logit of −∞ gives weight 0",
        "The other keys share the row among themselves",
    ),
)
ROWS = Property(
    key="batch.independence",
    statement="A row's weights do not depend on the other rows.",
    formula="softmax(x)[r] = softmax(x[r])",
    source="the sum runs over one row",
    derivation="independence",
    steps=("No dependence on other queries of the same sequence",),
)
LARGE_LOGITS = Property(
    key="large_logits",
    statement="Logits far beyond the range of exp give a finite result.",
    formula="|logits| > 88: f is finite and equals the formula, because softmax(x) = softmax(x − max x)",
    source="Milakov & Gimelshein 2018, section 2 (safe softmax)",
    derivation="softmax",
    steps=("Adding a constant to all logits changes nothing",),
)

DISTRIBUTION = (NONNEGATIVE, ROWS_SUM_TO_ONE)
SOFTMAX_LAWS = (VALUE, *DISTRIBUTION, SHIFT, PERMUTATION, MINUS_INFINITY, LARGE_LOGITS, ROWS)

LAWS = state((WORKED_EXAMPLES, *SOFTMAX_LAWS), SOFTMAX)
