"""The gradient of the loss of next tokens, which its backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.gradients import backward_of
from veriformer.spec.operations.next_token import NEXT_TOKEN_LOSS

NEXT_TOKEN_LOSS_BACKWARD = backward_of(
    NEXT_TOKEN_LOSS,
    ("logits",),
    summary="The gradient of a loss with respect to logits, given that of their loss of next tokens.",
    formula="dz_bi = dO (softmax(z_bi) − one-hot(tokens_b,i+1)) / number of kept targets, 0 at ignored targets and at"
    " the last token",
    source="Radford et al. 2018, equation 1; Goodfellow, Bengio & Courville 2016, section 6.2.2.3",
)

OPERATIONS = (NEXT_TOKEN_LOSS_BACKWARD,)
