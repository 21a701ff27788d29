"""The suite of the loss of next tokens."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.loss.cases import LossSpace
from veriformer.conformance_tests.operations.next_token.cases import NextTokenCase, next_token_cases
from veriformer.conformance_tests.operations.next_token.inputs import NextTokenInputs
from veriformer.conformance_tests.operations.next_token.rarities import NEXT_TOKENS

SUITES = (
    Suite(
        "next_token_loss",
        space=lambda how: LossSpace(ignore=how),
        draw=next_token_cases,
        inputs=NextTokenInputs,
        weight=19,
        ordinary=NextTokenCase(2, 4, 5, palette="normal"),
        rarities=NEXT_TOKENS,
        variants=("veriformer.conformance_tests.operations.next_token.variants", "NEXT_TOKEN_LOSS"),
    ),
)
