"""Laws of the gradient of the loss of next tokens."""

from __future__ import annotations

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.loss_backward import LARGE_LOGITS, ROWS_SUM_TO_ZERO, SHIFT, SOFTMAX_LOSS
from veriformer.spec.laws.next_token import INTERFACE, NEXT_TOKENS
from veriformer.spec.operations.next_token_backward import NEXT_TOKEN_LOSS_BACKWARD

_OF_ONE_CLASS = "The gradient for one class"
_PART = "What a position contributes to the mean"

GRAD_LOGITS = Property(
    key="grad_logits",
    statement="The gradient of each logit is its probability, less one at the next token, over the number of targets.",
    formula="dz_bik = dO (p_bik − δ_kt) / (B (L − 1)), p = softmax(z), t = x_b,i+1, i < L − 1",
    source=f"{SOFTMAX_LOSS}; {NEXT_TOKENS}",
    derivation="cross_entropy",
    steps=(_OF_ONE_CLASS, _PART),
)
LAST_ZERO = Property(
    key="logits.last",
    statement="The logits at the last token of a row have no gradient, because no token follows.",
    formula="dz_b,L−1,k = 0",
    source=NEXT_TOKENS,
    derivation="cross_entropy",
    steps=("An ignored position contributes nothing",),
)
FIRST_TOKEN = Property(
    key="tokens.first",
    statement="The first token of a row is no target: another one, or one that is ignored, changes no gradient.",
    formula="dz(z, x, dO) does not depend on x_b,0",
    source=NEXT_TOKENS,
    reason="no term of the definition has it: the first target is the second token",
)
SAMPLES = Property(
    key="batch.permutation",
    statement="The rows in another order have their gradients in that order.",
    formula="dz(z[π], x[π], dO) = dz(z, x, dO)[π], π a permutation of the batch",
    source="a sum does not depend on the order of its terms",
    derivation="cross_entropy",
    steps=("The order of the positions does not matter",),
)
IGNORE_VALUE = Property(
    key="ignore.value",
    statement="The gradients are divided by the number of targets that are not ignored.",
    formula="dz_bik = dO (p_bik − δ_kt) / #{b, i : t ≠ j}, t = x_b,i+1, ignore_index = j",
    source=INTERFACE,
    derivation="cross_entropy",
    steps=(_PART, _OF_ONE_CLASS),
    features=("ignore_index",),
)
IGNORE_ZERO = Property(
    key="ignore.zero",
    statement="The logits at a token whose next one is ignored have no gradient.",
    formula="x_b,i+1 = j: dz_bik = 0, ignore_index = j",
    source=INTERFACE,
    derivation="cross_entropy",
    steps=("An ignored position contributes nothing",),
    features=("ignore_index",),
)
IGNORE_NO_INFLUENCE = Property(
    key="ignore.no_influence",
    statement="The logits at a token whose next one is ignored change no gradient.",
    formula="x_b,i+1 = j: dz(z, x, dO) does not depend on z_bi, ignore_index = j",
    source=INTERFACE,
    derivation="cross_entropy",
    steps=("An ignored position contributes nothing",),
    features=("ignore_index",),
)

NEXT_TOKEN_BACKWARD_LAWS = (
    GRAD_LOGITS,
    LARGE_LOGITS,
    ROWS_SUM_TO_ZERO,
    LAST_ZERO,
    FIRST_TOKEN,
    SHIFT,
    SAMPLES,
    IGNORE_VALUE,
    IGNORE_ZERO,
    IGNORE_NO_INFLUENCE,
)

LAWS = state((*NEXT_TOKEN_BACKWARD_LAWS, *EVERY_BACKWARD_PASS), NEXT_TOKEN_LOSS_BACKWARD)
