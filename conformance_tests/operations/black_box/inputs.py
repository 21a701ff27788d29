"""The inputs of a model of unknown formula."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import SampledInputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.black_box.cases import BoxCase


class AnyLength(int):
    """An unknown length of an axis: it equals every length."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "·"


@dataclass(frozen=True, eq=False)
class BoxInputs(SampledInputs):
    """Numbers of tokens (B, L) or vectors (B, L, E), and which of them are real."""

    operation: ClassVar[str] = "model"
    dtype: str
    inputs: Array
    vocabulary: int
    padding_mask: Array | None = None
    lowest: int = 0
    parts: tuple[int, ...] | None = None
    cotangent: Array | None = None
    labels: Array | None = None
    samples: Array | None = None

    @classmethod
    def draw(cls, operation: str, case: BoxCase) -> BoxInputs:
        """Return the inputs that a case describes; the last sample has padding where any has."""
        generator = np.random.default_rng(case.seed)
        shape = (case.batch, case.length)
        if case.vocabulary:
            inputs = generator.integers(case.lowest, case.vocabulary, shape)
        else:
            inputs = round_to_dtype(generator.normal(size=(*shape, case.width)), case.dtype)
        mask = None
        if case.padded:
            lengths = generator.integers(1, case.length + 1, (case.batch, 1))
            lengths[-1] = max(min(int(lengths[-1, 0]), case.length - 1), 1)
            mask = np.arange(case.length) < lengths
            mask = mask[:, ::-1].copy() if case.side == "left" else mask
        return cls(case.dtype, inputs, case.vocabulary, mask, case.lowest)

    def arguments(self) -> dict[str, Any]:
        names = ("inputs", "padding_mask", "parts", "cotangent", "labels", "samples")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def batch(self) -> int:
        """B."""
        return int(self.inputs.shape[0])

    @property
    def length(self) -> int:
        """L."""
        return int(self.inputs.shape[1])

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of a correct result, whose width is unknown."""
        if self.labels is not None:
            return ()
        if self.cotangent is not None:
            return (AnyLength(), 3)
        return (*self.inputs.shape[:2], AnyLength())

    def take_samples(self, index: Array) -> Self:
        mask = None if self.padding_mask is None else self.padding_mask[index]
        samples = None if self.samples is None else self.samples[index]
        return replace(self, inputs=self.inputs[index], padding_mask=mask, samples=samples)

    def take_tokens(self, index: Array) -> BoxInputs:
        """Return the positions at `index`."""
        mask = None if self.padding_mask is None else self.padding_mask[:, index]
        return replace(self, inputs=self.inputs[:, index], padding_mask=mask)

    def changed_at(self, where: Array) -> BoxInputs:
        """Return inputs with other content at the positions `where`, bool (B, L)."""
        if self.vocabulary:
            next_tokens = self.lowest + (self.inputs - self.lowest + 1) % (self.vocabulary - self.lowest)
            return replace(self, inputs=np.where(where, next_tokens, self.inputs))
        return replace(self, inputs=np.where(where[..., None], -2.0 * self.inputs, self.inputs))

    def expected(self, conventions: Conventions) -> Expected:
        """There is no formula; NotImplementedError."""
        raise NotImplementedError("nothing is known of a black box")
