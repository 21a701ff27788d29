"""The inputs of merging two parts of an attention."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import SampledInputs
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled, round_to_dtype
from veriformer.conformance_tests.operations.merging.bounds import merge_bound
from veriformer.conformance_tests.operations.merging.cases import MergeCase
from veriformer.conformance_tests.rounding.precision import Precision

Part = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Divided:
    """An attention whose keys can be divided anywhere: logits (B, H, L, S) and values (B, H, S, Dv)."""

    logits: Array
    value: Array

    def over(self, keys: slice) -> Part:
        """Return the exact attention over some of the keys and its log-sum-exp."""
        logits = self.logits[..., keys]
        return reference.attention_over_part(logits, np.ones(logits.shape, dtype=bool), self.value[:, :, keys])


@dataclass(frozen=True, eq=False)
class MergeInputs(SeveralResults, SampledInputs):
    """Two parts of an attention, (B, H, L, Dv) and (B, H, L) each; `divided` is the attention they are parts of."""

    operation: ClassVar[str] = "merge_attention"
    dtype: str
    output_a: Array
    lse_a: Array
    output_b: Array
    lse_b: Array
    divided: Divided | None = None

    @classmethod
    def draw(cls, operation: str, case: MergeCase) -> MergeInputs:
        if operation != "merge_attention":
            raise ValueError(f"{operation} does not merge parts")
        generator = np.random.default_rng(case.seed)
        heads = (case.batch, case.heads)
        query = filled(generator, case, (*heads, case.length, case.width))
        key = filled(generator, case, (*heads, case.keys, case.width))
        value = filled(generator, case, (*heads, case.keys, case.width), amplified=False)
        divided = Divided(reference.attention_logits(query, key), value)
        return _emptied(cls.split(divided, (case.keys + 1) // 2, case.dtype), case, generator)

    @classmethod
    def split(cls, divided: Divided, cut: int, dtype: str) -> MergeInputs:
        """Return the parts before and after a cut, rounded to what the dtype can hold."""
        first, second = divided.over(slice(cut)), divided.over(slice(cut, None))
        output_a, lse_a, output_b, lse_b = (round_to_dtype(array, dtype) for array in (*first, *second))
        return cls(dtype, output_a, lse_a, output_b, lse_b, divided)

    @property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """The name and shape of each array of a correct result, in order."""
        return {"output": self.output_a.shape, "lse": self.lse_a.shape}

    def arguments(self) -> dict[str, Any]:
        return {
            "output_a": self.output_a,
            "lse_a": self.lse_a,
            "output_b": self.output_b,
            "lse_b": self.lse_b,
        }

    def take_samples(self, index: Array) -> Self:
        divided = self.divided and Divided(self.divided.logits[index], self.divided.value[index])
        return replace(
            self,
            output_a=self.output_a[index],
            lse_a=self.lse_a[index],
            output_b=self.output_b[index],
            lse_b=self.lse_b[index],
            divided=divided,
        )

    def swapped(self) -> Self:
        """Return the two parts in the other order."""
        return replace(self, output_a=self.output_b, lse_a=self.lse_b, output_b=self.output_a, lse_b=self.lse_a)

    def exact(self) -> Part:
        """Return the exact result of merging the parts as they are."""
        return reference.merge_attention(self.output_a, self.lse_a, self.output_b, self.lse_b)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and its error bound, output and log-sum-exp one after the other."""
        precision = Precision.of(self.dtype)
        output, lse = self.exact()

        def bounds() -> tuple[Array, Array]:
            return merge_bound((self.output_a, self.output_b), (self.lse_a, self.lse_b), output, lse, precision)

        return bounded_parts((output, lse), bounds, precision, self.dtype)


def _emptied(inputs: MergeInputs, case: MergeCase, generator: np.random.Generator) -> MergeInputs:
    """Return the inputs with parts that have no keys: one or both of them in the last row and in half of the others."""
    if case.empty == "none":
        return inputs
    rows = generator.random(inputs.lse_a.shape) < 0.5
    rows[-1, -1, -1] = True
    first = generator.random(rows.shape) < 0.5
    emptied = (rows, rows) if case.empty == "both" else (rows & first, rows & ~first)
    outputs = (
        np.where(where[..., None], 0.0, output)
        for where, output in zip(emptied, (inputs.output_a, inputs.output_b), strict=True)
    )
    logarithms = (
        np.where(where, -np.inf, lse) for where, lse in zip(emptied, (inputs.lse_a, inputs.lse_b), strict=True)
    )
    (output_a, output_b), (lse_a, lse_b) = outputs, logarithms
    return MergeInputs(inputs.dtype, output_a, lse_a, output_b, lse_b)
