"""The inputs of cross entropy: logits and target classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import SampledInputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.loss.bounds import mean_bound, scattered_bound, sum_bound, surprise_bound
from veriformer.conformance_tests.operations.loss.cases import LossCase, Reduction
from veriformer.conformance_tests.rounding.precision import Precision

_OUTSIDE = {"outside": -100, "minus_one": -1}
_SHARE_IGNORED = 0.4


@dataclass(frozen=True, eq=False)
class CrossEntropyInputs(SampledInputs):
    """Logits (B, L, N), targets (B, L), and the ignored index and smoothing."""

    operation: ClassVar[str] = "cross_entropy"
    dtype: str
    logits: Array
    targets: Array
    ignore_index: int | None = None
    label_smoothing: float | None = None
    reduction: Reduction | None = None

    @classmethod
    def draw(cls, operation: str, case: LossCase) -> CrossEntropyInputs:
        generator = np.random.default_rng(case.seed)
        shape = (case.batch, case.length, case.classes)
        logits = round_to_dtype(fill(generator, shape, case.palette, case.amplitude), case.dtype)
        targets = generator.integers(0, case.classes, shape[:2])
        if case.ignore == "none":
            return cls(case.dtype, logits, targets, None, case.label_smoothing, case.reduction)
        ignored = _OUTSIDE.get(case.ignore, int(generator.integers(case.classes)))
        if case.ignore == "inside":
            targets = (ignored + generator.integers(1, case.classes, shape[:2])) % case.classes
        targets = np.where(_chosen(generator, shape[:2]), ignored, targets)
        return cls(case.dtype, logits, targets, ignored, case.label_smoothing, case.reduction)

    @property
    def result_shape(self) -> tuple[int, ...]:
        return self.targets.shape if self.reduction == "none" else ()

    @property
    def classes(self) -> int:
        """N."""
        return int(self.logits.shape[-1])

    @property
    def kept(self) -> Array:
        """Which targets count, (B, L)."""
        return (
            np.ones(self.targets.shape, dtype=bool) if self.ignore_index is None else self.targets != self.ignore_index
        )

    def with_logits(self, logits: Array) -> CrossEntropyInputs:
        """Return inputs with other logits."""
        return replace(self, logits=logits)

    def take_samples(self, index: Array) -> Self:
        return replace(self, logits=self.logits[index], targets=self.targets[index])

    def take_positions(self, index: Array) -> CrossEntropyInputs:
        """Return inputs of the same shape whose positions, counted through all samples, are those at `index`."""
        logits = self.logits.reshape(-1, self.classes)[index].reshape(self.logits.shape)
        return replace(self, logits=logits, targets=self.targets.ravel()[index].reshape(self.targets.shape))

    def renumber_classes(self, order: Array) -> CrossEntropyInputs:
        """Return inputs in which class `order[k]` is called k; an ignored value that is no class keeps its name."""
        names = np.argsort(order)
        is_class = (self.targets >= 0) & (self.targets < self.classes)
        targets = np.where(is_class, names[np.where(is_class, self.targets, 0)], self.targets)
        ignored = self.ignore_index
        if ignored is not None and 0 <= ignored < self.classes:
            ignored = int(names[ignored])
        return replace(self, logits=self.logits[..., order], targets=targets, ignore_index=ignored)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact loss and its error bound."""
        share = self.label_smoothing or 0.0
        value = reference.cross_entropy(
            self.logits,
            self.targets,
            ignore_index=self.ignore_index,
            label_smoothing=share,
            reduction=self.reduction or "mean",
        )
        precision = Precision.of(self.dtype)
        errors = surprise_bound(self.logits[self.kept], self.targets[self.kept], share, precision)
        allowed = np.asarray(self._reduced(errors, value, precision)) * precision.with_reference
        return Expected(value, allowed, np.ones(value.shape, dtype=bool))

    def _reduced(self, errors: Array, value: Array, precision: Precision) -> Array | float:
        """Return the error bound of the reduced loss, from those of the losses that count."""
        if self.reduction == "none":
            return scattered_bound(errors, value, self.kept, precision)
        bound = sum_bound if self.reduction == "sum" else mean_bound
        return bound(errors, float(value), precision)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that counts ignored targets and does not divide."""
        precision = Precision.of(self.dtype)
        every_class = [
            surprise_bound(self.logits.reshape(-1, self.classes), np.full(self.targets.size, k), 0.0, precision)
            for k in (int(self.logits.argmin(axis=-1).flat[0]), int(self.logits.argmax(axis=-1).flat[0]))
        ]
        largest = np.maximum(*every_class)
        return largest.reshape(self.targets.shape) if self.reduction == "none" else np.asarray(np.sum(largest))


def _chosen(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return which targets are ignored: at least one is, and at least one is not."""
    chosen = generator.random(shape) < _SHARE_IGNORED
    first, second = generator.permutation(chosen.size)[:2]
    chosen.flat[first], chosen.flat[second] = True, False
    return chosen
