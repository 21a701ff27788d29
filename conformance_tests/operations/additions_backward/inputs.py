"""The inputs of the gradients of a bias and of sinks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.operations.additions_backward.bounds import bias_bound, sinks_bound
from veriformer.conformance_tests.operations.attention.case import AttentionCase, with_additions
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.gradients import SampledGradientInputs, drawn_cotangent
from veriformer.conformance_tests.rounding.precision import Precision

BIAS, SINKS = "attention_bias_backward", "attention_sinks_backward"


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditionInputs(SampledGradientInputs, AttentionInputs):
    """The inputs of attention with a bias, or with sinks, and the gradient of the output; the result is one array.

    Samples that share an entry of the bias, or a sink, add up, so that no sample is a case of its own.
    """

    adds_samples: ClassVar[bool] = True

    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: AttentionCase) -> Self:
        """Return the inputs that a case describes; the output's gradient is of the values' palette."""
        forward = AttentionInputs.draw(operation, with_additions(case, operation))
        return cls(**vars(forward), grad_output=drawn_cotangent(case, forward.result_shape))

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "grad_output": self.grad_output}

    @property
    def result_shape(self) -> Shape:
        return present(self.bias if self.operation == BIAS else self.sinks).shape

    def take_heads(self, index: Array) -> Self:
        """Return the heads at `index`."""
        return replace(super().take_heads(index), grad_output=self.grad_output[:, index])

    def take_queries(self, index: Array) -> Self:
        """Return the queries at `index` with the gradients of their outputs."""
        return replace(super().take_queries(index), grad_output=self.grad_output[:, :, index])

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradient under the conventions and its error bound.

        If a query sees no key, the value is that of the convention zeros, and `judged` omits every entry to which such
        a row adds. With sinks the output of such a row is zero under each convention.
        """
        precision = Precision.under(self.dtype, conventions)
        obeyed = self.obeying(conventions)
        if self.operation == BIAS and obeyed.bias is None:
            # Nothing reads the bias beside the causal flag.
            return bounded(np.zeros(self.result_shape), lambda: np.zeros(self.result_shape), precision, self.dtype)
        visible = self.visible(conventions)
        value = getattr(reference, self.operation)(
            self.query,
            self.key,
            self.value,
            self.grad_output,
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
        # Under the convention zeros an empty row has no weight, so that it adds to no error either.
        without_nan = {**conventions, "empty_row": "zeros"}

        def bound() -> Array:
            terms = self._terms(visible, without_nan)
            if self.operation == SINKS:
                return sinks_bound(terms, self.grad_output, precision)
            return bias_bound(terms, self.grad_output, self.result_shape, precision)

        return bounded(value, bound, precision, self.dtype, self._judged(conventions))

    def _judged(self, conventions: Conventions) -> Array:
        if self.sinks is not None:
            return np.ones(self.result_shape, dtype=bool)
        empty = self.empty_rows(conventions)[..., None]
        return np.asarray(~self.of_bias(np.broadcast_to(empty, (*empty.shape[:-1], self.key_length))))

    def of_bias(self, entries: Array) -> Array:
        """Return to which entries of the bias any of these entries, bool (B, H, L, S), belongs."""
        shape = self.result_shape
        lengths = (1,) * (entries.ndim - len(shape)) + shape
        axes = tuple(axis for axis, length in enumerate(lengths) if length == 1)
        return np.asarray(entries.any(axis=axes, keepdims=True).reshape(shape))
