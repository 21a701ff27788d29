"""The inputs of the backward pass of the loss of next tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.gradients import SampledGradientInputs
from veriformer.conformance_tests.operations.loss_backward.inputs import CrossEntropyBackwardInputs
from veriformer.conformance_tests.operations.next_token.cases import NextTokenCase
from veriformer.conformance_tests.operations.next_token.inputs import NextTokenInputs


@dataclass(frozen=True, eq=False, kw_only=True)
class NextTokenBackwardInputs(SampledGradientInputs, NextTokenInputs):
    """Logits (B, L, N), tokens (B, L), and the gradient of the loss, a number."""

    operation: ClassVar[str] = "next_token_loss_backward"
    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: NextTokenCase) -> Self:
        """Return the inputs that a case describes; the gradient of the loss is not 0."""
        forward = NextTokenInputs.draw(operation, case)
        value = np.asarray(fill(np.random.default_rng([case.seed, 2]), (1, 1), case.palette)).reshape(())
        value = np.where(value == 0.0, 2.0, value)
        return cls(**vars(forward), grad_output=np.asarray(round_to_dtype(value, case.dtype)))

    @property
    def result_shape(self) -> tuple[int, ...]:
        return self.logits.shape

    def take_samples(self, index: Array) -> Self:
        return replace(self, logits=self.logits[index], tokens=self.tokens[index])

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bound, which is 0 at the last tokens and at ignored targets."""
        ignored = {} if self.ignore_index is None else {"ignore_index": self.ignore_index}
        value = reference.next_token_loss_backward(self.logits, self.tokens, self.grad_output, **ignored)
        allowed = np.zeros(value.shape)
        allowed[:, :-1] = self._of_cross_entropy(self.logits[:, :-1], self.tokens[:, 1:]).expected(conventions).allowed
        return Expected(value, allowed, np.ones(value.shape, dtype=bool))

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that judges all logits and does not divide, for any class."""
        return self._of_cross_entropy(self.logits, self.tokens).loosest_error(conventions)

    def _of_cross_entropy(self, logits: Array, targets: Array) -> CrossEntropyBackwardInputs:
        return CrossEntropyBackwardInputs(
            self.dtype, logits, targets, ignore_index=self.ignore_index, grad_output=self.grad_output
        )
