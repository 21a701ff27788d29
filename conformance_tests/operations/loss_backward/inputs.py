"""The inputs of the backward pass of cross entropy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.gradients import SampledGradientInputs
from veriformer.conformance_tests.operations.loss.cases import LossCase
from veriformer.conformance_tests.operations.loss.inputs import CrossEntropyInputs
from veriformer.conformance_tests.operations.loss_backward.bounds import loss_backward_bound
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossEntropyBackwardInputs(SampledGradientInputs, CrossEntropyInputs):
    """Logits (B, L, N), targets (B, L), and the gradient of the loss: a number, or (B, L) under reduction none."""

    operation: ClassVar[str] = "cross_entropy_backward"
    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: LossCase) -> Self:
        """Return the inputs that a case describes; the gradient of a reduced loss is not 0."""
        forward = CrossEntropyInputs.draw(operation, case)
        shape = forward.result_shape
        generator = np.random.default_rng([case.seed, 2])
        # A palette may repeat the rows of a matrix.
        values = np.asarray(fill(generator, (1, *(shape or (1,))), case.palette)).reshape(shape)
        values = values if shape else np.where(values == 0.0, 2.0, values)
        return cls(**vars(forward), grad_output=np.asarray(round_to_dtype(values, case.dtype)))

    @property
    def result_shape(self) -> tuple[int, ...]:
        return self.logits.shape

    @property
    def own(self) -> Array:
        """What the gradients of each position are multiplied by, but for the division of a mean: (B, L)."""
        return np.broadcast_to(self.grad_output, self.targets.shape)

    def take_samples(self, index: Array) -> Self:
        logits, targets = self.logits[index], self.targets[index]
        return replace(self, logits=logits, targets=targets, grad_output=self._of_rows(self.own[index]))

    def take_positions(self, index: Array) -> Self:
        """Return inputs of the same shape whose positions, counted through all samples, are those at `index`."""
        logits = self.logits.reshape(-1, self.classes)[index].reshape(self.logits.shape)
        targets, own = (array.ravel()[index].reshape(self.targets.shape) for array in (self.targets, self.own))
        return replace(self, logits=logits, targets=targets, grad_output=self._of_rows(own))

    def _of_rows(self, own: Array) -> Array:
        return own if self.reduction == "none" else self.grad_output

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bound, which is 0 at ignored targets."""
        value = reference.cross_entropy_backward(
            self.logits,
            self.targets,
            self.grad_output,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing or 0.0,
            reduction=self.reduction or "mean",
        )
        precision, kept = Precision.of(self.dtype), self.kept
        factor = self.own[kept] if self.reduction in ("sum", "none") else self.own[kept] / kept.sum()

        def bound() -> Array:
            allowed = np.zeros(value.shape)
            allowed[kept] = self._bound(self.logits[kept], self._one_hot[kept], factor, precision)
            return allowed

        return bounded(value, bound, precision, self.dtype)

    @property
    def _one_hot(self) -> Array:
        return np.asarray(np.arange(self.classes) == self.targets[..., None], dtype=np.float64)

    def _bound(self, logits: Array, one_hot: Array, factor: Array, precision: Precision) -> Array:
        share = self.label_smoothing or 0.0
        wanted = one_hot + share / self.classes
        return loss_backward_bound(logits, wanted, factor[:, None], share, precision)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that counts ignored targets and does not divide, for any class.

        It multiplies no position by more than the largest of all gradients of losses.
        """
        logits = self.logits.reshape(-1, self.classes)
        factor = np.full(len(logits), np.abs(self.grad_output).max())
        bound = self._bound(logits, np.ones(logits.shape), factor, Precision.of(self.dtype))
        return bound.reshape(self.logits.shape)
