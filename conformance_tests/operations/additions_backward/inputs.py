"""The inputs of the gradients of a bias and of sinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array, present, shared_axes
from veriformer.conformance_tests.operations.additions_backward.bounds import bias_bound, sinks_bound
from veriformer.conformance_tests.operations.attention_backward.inputs import AttentionBackwardInputs
from veriformer.conformance_tests.rounding.precision import Precision

BIAS, SINKS = "attention_bias_backward", "attention_sinks_backward"


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditionInputs(AttentionBackwardInputs):
    """The inputs of attention with a bias, or with sinks, and the gradient of the output; the result is one array.

    Samples that share an entry of the bias, or a sink, add up, so that no sample is a case of its own.
    """

    adds_samples: ClassVar[bool] = True

    @property
    def result_shape(self) -> Shape:
        return present(self.bias if self.operation == BIAS else self.sinks).shape

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradient under the conventions and its error bound.

        If a query sees no key, the value is that of the convention zeros, and `judged` omits every entry to which such
        a row adds. With sinks the output of such a row is zero under each convention.
        """
        precision = Precision.under(self.dtype, conventions)
        if self.operation == BIAS and self.obeying(conventions).bias is None:
            # By this convention the causal flag replaces the bias, which nothing reads then.
            return bounded(np.zeros(self.result_shape), lambda: np.zeros(self.result_shape), precision, self.dtype)
        value = self.exact(conventions)

        def bound() -> Array:
            terms = self.exact_terms(conventions)
            if self.operation == SINKS:
                return sinks_bound(terms, self.grad_output, precision)
            return bias_bound(terms, self.grad_output, self.result_shape, precision)

        return bounded(value, bound, precision, self.dtype, self._judged(conventions))

    def _judged(self, conventions: Conventions) -> Array:
        if self.sinks is not None:
            return np.ones(self.result_shape, dtype=bool)
        empty = self.empty_rows(conventions)[..., None]
        return np.asarray(~self._of_bias(np.broadcast_to(empty, (*empty.shape[:-1], self.key_length))))

    def _of_bias(self, entries: Array) -> Array:
        """Return to which entries of the bias any of these entries, bool (B, H, L, S), belongs."""
        axes = shared_axes(self.result_shape, entries.ndim)
        return np.asarray(entries.any(axis=axes).reshape(self.result_shape))
