"""The inputs of the backward passes of attention between projections, and the gradients that they return."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import is_exact
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.gradients import GradientInputs, drawn_cotangent
from veriformer.conformance_tests.operations.multi_head.inputs import ProjectedInputs, Projections
from veriformer.conformance_tests.operations.multi_head_backward.bounds import multi_head_back, single_head_back
from veriformer.conformance_tests.operations.single_head.inputs import HeadProjections, OneHeadInputs
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision

WeightsT = TypeVar("WeightsT", Projections, HeadProjections)


def in_range_of(case: AttentionCase) -> AttentionCase:
    """Return a case whose gradients, products of many factors, float16 can hold: without large values."""
    return replace(case, amplitude=1) if case.dtype == "float16" else case


def damped(weights: WeightsT, case: AttentionCase) -> WeightsT:
    """Return weights whose products with vectors are no larger than these, where float16 is to hold all gradients.

    Those of whole numbers are not that small yet. Powers of two leave them exact.
    """
    if case.dtype != "float16" or not is_exact(case):
        return weights
    smaller = {
        name: matrix * 2.0 ** -math.ceil(math.log2(len(matrix)))
        for name, matrix in vars(weights).items()
        if matrix is not None and matrix.ndim == 2
    }
    return replace(weights, **smaller)


def weight_parts(weights: Projections | HeadProjections) -> dict[str, Shape]:
    """Return the gradients of weights, each with the shape of its argument, where there is one."""
    return {f"grad_{name}": array.shape for name, array in vars(weights).items() if array is not None}


@dataclass(frozen=True, eq=False, kw_only=True)
class MultiHeadBackwardInputs(SeveralResults, GradientInputs, ProjectedInputs):
    """Inputs of multi-head attention, and the gradients of its results.

    A weight's gradient is a sum over all positions of all samples, so that no sample is a case of its own.
    """

    operation: ClassVar[str] = "multi_head_attention_backward"
    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: AttentionCase) -> Self:
        """Return the inputs that a case describes: those of the forward pass, and gradients of their palette."""
        case = in_range_of(case)
        forward = cls._drawn(operation, case)
        forward["weights"] = damped(forward["weights"], case)
        return cls(**forward, grad_output=drawn_cotangent(case, forward["x"].shape))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call, by the interface's names."""
        return {**super().arguments(), "grad_output": self.grad_output}

    @property
    def parts(self) -> dict[str, Shape]:
        """The gradients, each with the shape of its argument."""
        return {"grad_x": self.x.shape, "grad_context": self.context.shape, **weight_parts(self.weights)}

    def with_weights(self, **weights: Any) -> Self:
        """Return the inputs with some weights replaced."""
        return replace(self, weights=replace(self.weights, **weights))

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`, with the gradients of their results."""
        return replace(super().take_samples(index), grad_output=self.grad_output[index])

    def take_queries(self, index: Array) -> Self:
        """Return the queries at `index`, with the gradients of their results."""
        return replace(super().take_queries(index), grad_output=self.grad_output[:, index])

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients under the conventions and their error bounds, one after the other.

        If a query sees no key, the value is that of the convention zeros, and `judged` omits everything that such a
        row reaches: its own gradient, those of its sample's context, and those of all weights but the last bias.
        """
        precision = Precision.under(self.dtype, conventions)
        obeyed, visible = self.obeying(conventions), self.visible(conventions)
        grad_x, grad_context, grad_weights = reference.multi_head_attention_backward(
            self.x,
            self.context,
            self.weights,
            self.grad_output,
            num_heads=self.num_heads,
            num_kv_heads=self.num_kv_heads,
            mask=obeyed.mask,
            is_causal=obeyed.is_causal,
            causal_alignment=conventions["causal_alignment"],
        )

        def estimates() -> list[Estimate]:
            of_x, of_context, of_weights = multi_head_back(
                Estimate.exact(self.x),
                Estimate.exact(self.context),
                self.weights,
                Estimate.exact(self.grad_output),
                visible,
                precision,
                num_heads=self.num_heads,
                num_kv_heads=self.num_kv_heads,
            )
            return [of_x, of_context, *_in_order(self.weights, of_weights)]

        empty = np.any(~np.any(visible, axis=-1), axis=1)
        values = [grad_x, grad_context, *_in_order(self.weights, vars(grad_weights))]
        judged = [~empty[..., None], ~empty.any(axis=1)[:, None, None], *_weights_judged(self.weights, ~empty.any())]
        return _expected(values, estimates, judged, precision, self.dtype)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that sees every key: see `Trial.equal`."""
        return replace(self, mask=None, is_causal=False).expected(conventions).allowed


@dataclass(frozen=True, eq=False, kw_only=True)
class SingleHeadBackwardInputs(SeveralResults, GradientInputs, OneHeadInputs):
    """Inputs of attention of one head, and the gradients of its results."""

    operation: ClassVar[str] = "single_head_attention_backward"
    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: AttentionCase) -> Self:
        """Return the inputs that a case describes: those of the forward pass, and gradients of their palette."""
        case = in_range_of(case)
        forward = cls._drawn(operation, case)
        forward["weights"] = damped(forward["weights"], case)
        shape = (*forward["x"].shape[:2], forward["weights"].w_v.shape[1])
        return cls(**forward, grad_output=drawn_cotangent(case, shape))

    @property
    def parts(self) -> dict[str, Shape]:
        """The gradients, each with the shape of its argument."""
        return {"grad_x": self.x.shape, **weight_parts(self.weights)}

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`, with the gradients of their results."""
        return replace(super().take_samples(index), grad_output=self.grad_output[index])

    def take_tokens(self, index: Array) -> Self:
        """Return the positions at `index`, with the gradients of their results."""
        return replace(super().take_tokens(index), grad_output=self.grad_output[:, index])

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bounds; of samples with an empty row only the others are judged.

        Every position is a key of its sample, so that an empty row reaches the gradients of all of them.
        """
        precision = Precision.under(self.dtype, conventions)
        weights = reference.SingleHeadWeights(**vars(self.weights))
        grad_x, grad_weights = reference.single_head_attention_backward(
            self.x, weights, self.grad_output, mask=self.mask
        )

        def estimates() -> list[Estimate]:
            x, gradient = Estimate.exact(self.x), Estimate.exact(self.grad_output)
            of_x, of_weights = single_head_back(x, weights, gradient, self.visible, precision)
            return [of_x, *_in_order(self.weights, of_weights)]

        empty = ~np.any(self.visible, axis=-1)
        values = [grad_x, *_in_order(self.weights, vars(grad_weights))]
        judged = [~empty.any(axis=1)[:, None, None], *_weights_judged(self.weights, ~empty.any())]
        return _expected(values, estimates, judged, precision, self.dtype)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that sees every position: see `Trial.equal`."""
        return replace(self, mask=None).expected(conventions).allowed


def _expected(
    values: list[Array],
    estimates: Callable[[], list[Estimate]],
    judged: list[Array],
    precision: Precision,
    dtype: str,
) -> Expected:
    every = [np.broadcast_to(counted, value.shape) for value, counted in zip(values, judged, strict=True)]
    return bounded_parts(values, lambda: [estimate.error for estimate in estimates()], precision, dtype, every)


def _in_order(weights: Projections | HeadProjections, given: Mapping[str, Any]) -> list[Any]:
    """Return what is given for each weight that there is, in the order of the weights."""
    return [given[name] for name, array in vars(weights).items() if array is not None]


def _weights_judged(weights: Projections | HeadProjections, judged: Any) -> list[Array]:
    """Return which gradients of weights are judged; that of the last bias does not depend on the keys that are seen."""
    return [np.asarray(judged or name == "b_o") for name, array in vars(weights).items() if array is not None]
