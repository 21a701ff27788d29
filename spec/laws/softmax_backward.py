"""Laws of the gradient of softmax."""

from __future__ import annotations

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.softmax_backward import SOFTMAX_BACKWARD

BRIDLE = "Bridle 1990: the Jacobian of softmax is diag(p) − p pᵀ"
GRAD_X = Property(
    key="grad_x",
    statement="The gradient of a logit is its weight times what its weight's gradient is above the average.",
    formula="dx_j = p_j (dO_j − Σ_l p_l dO_l), p = softmax(x)",
    source=BRIDLE,
    derivation="backward",
    steps=("The gradient of softmax: dx = p ∘ (G − Σ p G)",),
)
LARGE_LOGITS = Property(
    key="large_logits",
    statement="Logits far beyond the range of exp give finite gradients.",
    formula="|x| > 88: dx is finite and equals the formula",
    source="Milakov & Gimelshein 2018, section 2 (safe softmax)",
    derivation="softmax",
    steps=("Adding a constant to all logits changes nothing",),
)
ROWS_SUM_TO_ZERO = Property(
    key="rows_sum_to_zero",
    statement="The gradients of the logits of each row sum to zero.",
    formula="Σ_j dx_j = 0",
    source="softmax ignores a shift of its row, so that no gradient points along it",
    derivation="backward",
    steps=("The gradients of softmax sum to 0",),
)
EQUAL = Property(
    key="grad_output.equal",
    statement="If all weights of a row have the same gradient, its logits have none.",
    formula="dO_j = c for all j: dx = 0",
    source="the weights sum to one whatever the logits, so that c Σ p is a constant",
    derivation="backward",
    steps=("Equal gradients of the weights give the logits none",),
)
SHIFT = Property(
    key="shift",
    statement="Adding one number to all logits of a row leaves its gradients as they are.",
    formula="dx(x + c, dO) = dx(x, dO)",
    source="the weights are the same, and the gradient has no other use of the logits",
    derivation="softmax",
    steps=("Adding a constant to all logits changes nothing",),
)
HIDDEN = Property(
    key="minus_infinity",
    statement="A logit of −∞ has no gradient, and the others have that of the softmax over the rest.",
    formula="x_j = −∞: dx_j = 0",
    source="its weight is zero, a factor of its gradient",
    derivation="backward",
    steps=("The gradient of softmax: dx = p ∘ (G − Σ p G)",),
)
PERMUTATION = Property(
    key="permutation",
    statement="Logits and gradients of a row in another order give the gradients in that order.",
    formula="dx(x[π], dO[π]) = dx(x, dO)[π]",
    source="a sum does not depend on the order of its terms",
    derivation="softmax",
    steps=("Permuting the logits permutes the weights",),
)
ALONE = Property(
    key="batch.independence",
    statement="The gradients of a row do not depend on the other rows.",
    formula="dx(x, dO)[r] = dx(x[r], dO[r])",
    source=BRIDLE,
    reason="the formula has one row as its argument",
)

LAWS = state(
    (
        WORKED_EXAMPLES,
        GRAD_X,
        LARGE_LOGITS,
        ROWS_SUM_TO_ZERO,
        EQUAL,
        SHIFT,
        HIDDEN,
        PERMUTATION,
        ALONE,
        *EVERY_BACKWARD_PASS,
    ),
    SOFTMAX_BACKWARD,
)
