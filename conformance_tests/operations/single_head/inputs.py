"""The inputs of attention of one head: a sequence, its projections and a mask without an axis of heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs, SampledInputs
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.case import Palette
from veriformer.conformance_tests.drawing.values import fill, filled, is_exact, round_to_dtype
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.attention.estimates import attended
from veriformer.conformance_tests.operations.attention.masks import draw_mask
from veriformer.conformance_tests.operations.multi_head.inputs import Projections
from veriformer.conformance_tests.rounding.estimates import Estimate, projected
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True)
class HeadProjections:
    """The weights of one head, by the interface's names."""

    w_q: Array
    w_k: Array
    w_v: Array

    @classmethod
    def draw(cls, case: AttentionCase, width: int, generator: np.random.Generator) -> HeadProjections:
        """Return projections of the case's palette from vectors of a width E."""
        exact = is_exact(case)
        # Weights of unit size would let logits grow with the width squared.
        palette: Palette = case.palette if exact else "normal"
        damping = 1.0 if exact else width**-0.5

        def weight(size: int) -> Array:
            return round_to_dtype(fill(generator, (width, size), palette) * damping, case.dtype)

        return cls(weight(case.head_width), weight(case.head_width), weight(case.value_width))

    def with_logits_in_range(self, x: Array) -> HeadProjections:
        """Return projections with which no inner product of a query and a key leaves float16: see `Projections`."""
        as_several = Projections(self.w_q, self.w_k, self.w_v, self.w_v.T)
        return replace(self, w_q=as_several.with_logits_in_range(x, x, 1, 1).w_q)


def model_width(case: AttentionCase) -> int:
    """Return E of a case: that of the head, or wider, so that neither alone is ever met."""
    return case.head_width if case.seed % 3 == 0 else case.head_width + case.value_width


@dataclass(frozen=True, eq=False)
class OneHeadInputs(Inputs):
    """A sequence (B, L, E), the projections of one head, and which positions each position may see."""

    dtype: str
    x: Array
    weights: HeadProjections
    mask: Array | None = None

    @classmethod
    def given(cls, dtype: str, arguments: Mapping[str, Any]) -> Self:
        """Return inputs made from given arguments; the weights are a mapping."""
        return cls(dtype=dtype, **{**arguments, "weights": HeadProjections(**arguments["weights"])})

    @classmethod
    def draw(cls, operation: str, case: AttentionCase) -> Self:
        """Return the inputs that a case describes."""
        return cls(**cls._drawn(operation, case))

    @classmethod
    def _drawn(cls, operation: str, case: AttentionCase) -> dict[str, Any]:
        """Return the members that a case describes, by name; its queries and keys are one sequence."""
        if not operation.startswith("single_head_attention"):
            raise ValueError(f"{operation} has not the projections of one head alone")
        generator = np.random.default_rng(case.seed)
        width = model_width(case)
        x = filled(generator, case, (case.batch, case.query_length, width))
        weights = HeadProjections.draw(case, width, generator)
        if case.dtype == "float16":
            weights = weights.with_logits_in_range(x)
        mask = draw_mask(replace(case, heads=1, kv_heads=1, key_length=case.query_length), generator)
        without_heads = mask if mask is None or mask.ndim == 2 else mask[:, 0]
        return {"dtype": case.dtype, "x": x, "weights": weights, "mask": without_heads}

    @property
    def batch(self) -> int:
        """The number of samples."""
        return int(self.x.shape[0])

    @property
    def query_length(self) -> int:
        """L."""
        return int(self.x.shape[1])

    @property
    def result_shape(self) -> tuple[int, ...]:
        return (*self.x.shape[:2], self.weights.w_v.shape[1])

    @property
    def visible(self) -> Array:
        """Which positions each position may see, (B, L, L)."""
        shape = (self.batch, self.query_length, self.query_length)
        return np.broadcast_to(np.asarray(True if self.mask is None else self.mask), shape)

    @property
    def unseen(self) -> Array:
        """Which positions no position may see, (B, L)."""
        return np.asarray(~self.visible.any(axis=1))

    def empty_rows(self, _: Conventions) -> Array:
        """Return which positions may see no position, (B, L)."""
        return np.asarray(~self.visible.any(axis=-1))

    def with_tokens_replaced(self, where: Array, content: float) -> Self:
        """Return a sequence with other content at `where` (B, L)."""
        return replace(self, x=np.where(where[..., None], content, self.x))

    def with_weights(self, **weights: Array) -> Self:
        """Return the inputs with some projections replaced."""
        return replace(self, weights=replace(self.weights, **weights))

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`."""
        mask = self.mask
        if mask is not None and mask.ndim == 3 and mask.shape[0] > 1:
            mask = mask[index]
        return replace(self, x=self.x[index], mask=mask)

    def take_tokens(self, index: Array) -> Self:
        """Return the positions at `index`."""
        mask = self.mask
        for axis in (-2, -1):
            if mask is not None and mask.shape[axis] > 1:
                mask = np.take(mask, index, axis=axis)
        return replace(self, x=self.x[:, index], mask=mask)

    def result_axis(self, name: str) -> int:
        """Return the axis of the result that stands for `batch` or `queries`."""
        return {"batch": 0, "queries": 1}[name]


@dataclass(frozen=True, eq=False)
class SingleHeadInputs(OneHeadInputs, SampledInputs):
    """Inputs of attention of one head."""

    operation: ClassVar[str] = "single_head_attention"

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and its error bound, that of attention between projections that have rounded."""
        precision = Precision.under(self.dtype, conventions)
        value = reference.single_head_attention(
            self.x,
            reference.SingleHeadWeights(**vars(self.weights)),
            mask=self.mask,
            empty_row=conventions["empty_row"],
        )
        judged = np.broadcast_to(np.any(self.visible, axis=-1, keepdims=True), value.shape)
        return bounded(value, lambda: self._bound(conventions, precision), precision, self.dtype, judged)

    def _bound(self, conventions: Conventions, precision: Precision) -> Array:
        query, key, value = (self._head(weight, precision) for weight in vars(self.weights).values())
        visible, rule = self.visible[:, None], conventions["empty_row"]
        return np.asarray(attended(query, key, value, visible, precision, empty_row=rule).error)[:, 0]

    def _head(self, weight: Array, precision: Precision) -> Estimate:
        return projected(Estimate.exact(self.x), weight, None, precision).mapped(lambda wide: wide[:, None])

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that sees every position: see `Trial.equal`."""
        return replace(self, mask=None).expected(conventions).allowed
