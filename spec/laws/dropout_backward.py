"""Laws of the gradient of dropout."""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws import dropout
from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS, JACOBIAN
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.dropout_backward import DROPOUT_BACKWARD

_SAME_MASK = "The derivative passes through the same mask"
GRAD_X = Property(
    key="grad_x",
    statement="In training each gradient is zero, or that of the result divided by 1 − p.",
    formula="dx_i ∈ {0, dO_i / (1 − p)}",
    source=JACOBIAN,
    derivation="dropout",
    steps=(_SAME_MASK, "On average a gradient stays as it is"),
)
FORWARD_MASK = Property(
    key="mask.forward",
    statement="Gradients pass where the forward pass with the same seed keeps the entries, and nowhere else.",
    formula="dx_i = 0 ⇔ f(1)_i = 0, dO_i ≠ 0",
    source=JACOBIAN,
    derivation="dropout",
    steps=(_SAME_MASK,),
)
EVALUATION = replace(
    dropout.EVALUATION,
    statement="In evaluation the gradient is that of the result, to the last bit.",
    formula="dx = dO",
    source=JACOBIAN,
    derivation=None,
    steps=(),
    reason="the derivative of the identity",
)
NOTHING_DROPPED = replace(
    dropout.NOTHING_DROPPED,
    statement="At rate zero the gradient is that of the result, to the last bit.",
    formula="p = 0: dx = dO",
)
SHARE = replace(
    dropout.SHARE,
    statement="Of many gradients about the share p does not pass, no more and no fewer than chance allows.",
    formula="#{i: dx_i = 0} ~ B(n, p), dO_i ≠ 0",
)
OF_SEED = replace(
    dropout.OF_SEED,
    statement="With the same seed the same gradients pass, whatever x and the gradients of the result are.",
    formula="dx_i(x, dO) = 0 ⇔ dx_i(x′, dO′) = 0, dO_i, dO′_i ≠ 0",
)
OF_DROPOUT_BACKWARD = (
    GRAD_X,
    FORWARD_MASK,
    EVALUATION,
    NOTHING_DROPPED,
    SHARE,
    OF_SEED,
)

LAWS = state((*OF_DROPOUT_BACKWARD, *EVERY_BACKWARD_PASS), DROPOUT_BACKWARD)
