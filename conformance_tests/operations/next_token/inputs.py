"""The inputs of the loss of next tokens: logits and the tokens that the model read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import SampledInputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.loss.inputs import CrossEntropyInputs
from veriformer.conformance_tests.operations.next_token.cases import NextTokenCase


@dataclass(frozen=True, eq=False)
class NextTokenInputs(SampledInputs):
    """Logits (B, L, N), tokens (B, L), and the ignored index."""

    operation: ClassVar[str] = "next_token_loss"
    dtype: str
    logits: Array
    tokens: Array
    ignore_index: int | None = None

    @classmethod
    def draw(cls, operation: str, case: NextTokenCase) -> NextTokenInputs:
        """Return the inputs that a case describes; a row's first token is any class, or the ignored value."""
        shifted = CrossEntropyInputs.draw("cross_entropy", replace(case, length=case.length - 1))
        generator = np.random.default_rng([case.seed, 1])
        last = fill(generator, (case.batch, 1, case.classes), case.palette, case.amplitude)
        first = generator.integers(0, case.classes, (case.batch, 1))
        if shifted.ignore_index is not None:
            first = np.where(generator.random(first.shape) < 0.5, shifted.ignore_index, first)
        return cls(
            case.dtype,
            np.concatenate([shifted.logits, round_to_dtype(last, case.dtype)], axis=1),
            np.concatenate([first, shifted.targets], axis=1),
            shifted.ignore_index,
        )

    @property
    def result_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def classes(self) -> int:
        """N."""
        return int(self.logits.shape[-1])

    @property
    def kept(self) -> Array:
        """At which tokens the logits are judged, (B, L): nowhere at the last."""
        judged = np.zeros(self.tokens.shape, dtype=bool)
        judged[:, :-1] = self.shifted.kept
        return judged

    @property
    def targets(self) -> Array:
        """The next token of each, (B, L): at the last, where there is none, that token itself."""
        return np.concatenate([self.tokens[:, 1:], self.tokens[:, -1:]], axis=1)

    @property
    def shifted(self) -> CrossEntropyInputs:
        """The inputs of the cross entropy that the loss is."""
        return CrossEntropyInputs(self.dtype, self.logits[:, :-1], self.tokens[:, 1:], self.ignore_index)

    def with_logits(self, logits: Array) -> Self:
        """Return inputs with other logits."""
        return replace(self, logits=logits)

    def take_samples(self, index: Array) -> Self:
        return replace(self, logits=self.logits[index], tokens=self.tokens[index])

    def renumber_classes(self, order: Array) -> Self:
        """Return inputs in which class `order[k]` is called k, as those of the cross entropy."""
        whole = CrossEntropyInputs(self.dtype, self.logits, self.tokens, self.ignore_index).renumber_classes(order)
        return replace(self, logits=whole.logits, tokens=whole.targets, ignore_index=whole.ignore_index)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact loss and its error bound, that of the cross entropy: a shift rounds nothing."""
        ignored = {} if self.ignore_index is None else {"ignore_index": self.ignore_index}
        value = reference.next_token_loss(self.logits, self.tokens, **ignored)
        return Expected(value, self.shifted.expected(conventions).allowed, np.ones((), dtype=bool))

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that judges all logits and does not divide."""
        return CrossEntropyInputs(self.dtype, self.logits, self.tokens).loosest_error(conventions)
