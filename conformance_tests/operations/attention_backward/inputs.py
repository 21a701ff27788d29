"""The inputs of the backward passes of attention, grouped or not, and of its weights, with their gradients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.bounds import AttentionTerms
from veriformer.conformance_tests.operations.attention.case import ADDITIONS, AttentionCase, with_additions
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.attention_backward.bounds import backward_bounds
from veriformer.conformance_tests.operations.gradients import SampledGradientInputs, drawn_cotangent
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.spec.operations import OPERATIONS

OPERATION = "scaled_dot_product_attention_backward"
WITH_VALUES = (OPERATION, "grouped_query_attention_backward")
# All have the laws of gradients that pass the softmax.
BACKWARD = (*WITH_VALUES, "attention_weights_backward")
# Those whose conventions are asked alike, and those of them that take values.
ASKED = (*BACKWARD, *ADDITIONS)
ASKED_WITH_VALUES = (*WITH_VALUES, *ADDITIONS)


@dataclass(frozen=True, eq=False, kw_only=True)
class AttentionBackwardInputs(SampledGradientInputs, AttentionInputs):
    """The inputs of attention or of its weights, and the gradient of the result."""

    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: AttentionCase) -> Self:
        """Return the inputs that a case describes; the result's gradient is of the values' palette."""
        forward = AttentionInputs.draw(operation, with_additions(case, operation))
        return cls(**vars(forward), grad_output=drawn_cotangent(case, forward.result_shape))

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "grad_output": self.grad_output}

    def take_heads(self, index: Array) -> Self:
        """Return the heads at `index`."""
        return replace(super().take_heads(index), grad_output=self.grad_output[:, index])

    def take_queries(self, index: Array) -> Self:
        """Return the queries at `index` with the gradients of their outputs."""
        return replace(super().take_queries(index), grad_output=self.grad_output[:, :, index])

    def exact(self, conventions: Conventions) -> Any:
        """Return what the reference gives under the conventions; a row without a key follows the convention zeros."""
        obeyed = self.obeying(conventions)
        backward = getattr(reference, self.operation)
        return backward(
            *(getattr(self, name) for name in OPERATIONS[self.operation].positional),
            mask=obeyed.mask,
            bias=obeyed.bias,
            is_causal=obeyed.is_causal,
            scale=self.scale,
            window=self.window,
            softcap=self.softcap,
            sinks=self.sinks,
            causal_alignment=conventions["causal_alignment"],
            window_counting=conventions.get("window_counting", "inclusive"),
        )

    def exact_terms(self, conventions: Conventions) -> AttentionTerms:
        """Return what the bounds follow from. By the convention zeros an empty row adds to no error either."""
        return self._terms(self.visible(conventions), {**conventions, "empty_row": "zeros"})


@dataclass(frozen=True, eq=False, kw_only=True)
class LogitsBackwardInputs(SeveralResults, AttentionBackwardInputs):
    """Inputs whose result is a gradient of each argument.

    Where query heads share a key/value head, its gradients are the sums over its group.
    """

    @property
    def parts(self) -> dict[str, Shape]:
        """The gradients, each with the shape of its argument."""
        arrays = {"grad_query": self.query, "grad_key": self.key, "grad_value": self.value}
        return {name: array.shape for name, array in arrays.items() if array is not None}

    def result_axis(self, name: str) -> int:
        """Return the axis of a part of the result that stands for `batch`, `heads`, or its queries or keys."""
        return {"batch": 0, "heads": 1, "queries": 2, "keys": 2}[name]

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients under the conventions and their error bounds, one after the other.

        If a query sees no key, the value is that of the convention zeros, and `judged` omits everything that such a row
        reaches: its query's gradient and those of every key and value that its head reads. Laws of such rows compare
        all. With sinks the output of such a row is zero under each convention.
        """
        precision = Precision.under(self.dtype, conventions)
        gradients = self.exact(conventions)

        def bounds() -> tuple[Array, ...]:
            return backward_bounds(self.exact_terms(conventions), self.grad_output, precision, self.group_size)

        empty = self.empty_rows(conventions) & (self.sinks is None)
        of_groups = empty.reshape(self.batch, -1, self.group_size * self.query_length)
        of_keys = np.any(of_groups, axis=-1, keepdims=True)[..., None]
        reached = (empty[..., None], of_keys, of_keys)[: len(self.parts)]
        judged = [np.broadcast_to(~away, one.shape) for one, away in zip(gradients, reached, strict=True)]
        return bounded_parts(gradients, bounds, precision, self.dtype, judged)

    def in_any_order_of_heads(self, errors: Iterable[Array]) -> Array:
        """Return what an error of any head may be: the largest of each gradient over heads."""
        given = tuple(errors)

        def largest(name: str) -> Array:
            part = self.part(name)
            highest = np.max([part(error) for error in given], axis=(0, 2), keepdims=True)[0]
            return np.broadcast_to(highest, self.parts[name])

        return np.concatenate([largest(name).ravel() for name in self.parts])


@dataclass(frozen=True, eq=False, kw_only=True)
class BackwardInputs(LogitsBackwardInputs):
    """Queries, keys, values and the gradient of the output, (B, H, L, Dv); the result has three parts."""

    value: Array
