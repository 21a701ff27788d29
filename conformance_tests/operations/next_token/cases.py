"""Cases of the loss of next tokens: those of the cross entropy, with one token more in each row."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from veriformer.conformance_tests.drawing.choices import Choice
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.loss.cases import LossCase, LossSpace, loss_cases


@dataclass(frozen=True)
class NextTokenCase(LossCase):
    """One call of `next_token_loss`; `length` counts tokens, of which a row has one more than targets."""


def next_token_cases(space: LossSpace, limits: Limits) -> Choice[NextTokenCase]:
    """Return cases for a space that counts targets."""
    return loss_cases(space, limits).map(lambda case: NextTokenCase(**{**asdict(case), "length": case.length + 1}))
