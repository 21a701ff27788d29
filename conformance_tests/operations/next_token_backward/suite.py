"""The suite of the gradient of the loss of next tokens."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.loss.cases import LossSpace
from veriformer.conformance_tests.operations.next_token.cases import NextTokenCase, next_token_cases
from veriformer.conformance_tests.operations.next_token_backward.inputs import NextTokenBackwardInputs
from veriformer.conformance_tests.operations.next_token_backward.rarities import NEXT_TOKENS_BACKWARD

SUITES = (
    Suite(
        "next_token_loss_backward",
        space=lambda how: LossSpace(ignore=how),
        draw=next_token_cases,
        inputs=NextTokenBackwardInputs,
        weight=22,
        ordinary=NextTokenCase(2, 4, 5, palette="normal"),
        rarities=NEXT_TOKENS_BACKWARD,
        variants=("veriformer.conformance_tests.operations.next_token_backward.variants", "NEXT_TOKEN_LOSS_BACKWARD"),
    ),
)
