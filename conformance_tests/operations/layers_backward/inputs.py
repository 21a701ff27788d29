"""The inputs of the backward passes of encoder and decoder layers, and the gradients that they return."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.gradients import GradientInputs, are_held, drawn_cotangent
from veriformer.conformance_tests.operations.layers.cases import LayerCase
from veriformer.conformance_tests.operations.layers.inputs import AnyLayerInputs
from veriformer.conformance_tests.operations.layers_backward.bounds import layer_back
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False, kw_only=True)
class LayerBackwardInputs(SeveralResults, GradientInputs, AnyLayerInputs):
    """Inputs of a layer, and the gradients of its results: 0 at padded positions, whose results have no meaning.

    A weight's gradient is a sum over all positions of all samples, so that no sample is a case of its own.
    """

    grad_output: Array

    @classmethod
    def draw(cls, operation: str, case: LayerCase) -> Self:
        """Return the inputs that a case describes: those of the forward pass, and gradients of their palette."""
        # Gradients are products of many factors, which float16 is to hold.
        case = replace(case, amplitude=1) if case.dtype == "float16" else case
        forward = cls._drawn(case)
        drawn = cls(**forward, grad_output=np.zeros_like(forward["x"]))
        return drawn.with_cotangents(grad_output=drawn_cotangent(case, forward["x"].shape))

    @property
    def operation(self) -> str:
        """The operation's name, which follows from the memory."""
        return f"{super().operation}_backward"

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call, by the interface's names."""
        return {**super().arguments(), "grad_output": self.grad_output}

    @property
    def weight_shapes(self) -> dict[str, Shape]:
        """The shape of each weight, by its path: "self_attention.w_q"."""
        groups = {group.name: getattr(self.weights, group.name) for group in fields(self.weights)}
        return {
            f"{group}.{name}": array.shape
            for group, weights in groups.items()
            for name, array in vars(weights).items()
            if array is not None
        }

    @property
    def parts(self) -> dict[str, Shape]:
        """The gradients, each with the shape of its argument."""
        memory = {} if self.memory is None else {"grad_memory": self.memory.shape}
        weights = {f"grad_{path}": shape for path, shape in self.weight_shapes.items()}
        return {"grad_x": self.x.shape, **memory, **weights}

    def with_cotangents(self, **cotangents: Array) -> Self:
        """Return inputs with another gradient of the result, 0 at padded positions."""
        real = self.real[..., None]
        return super().with_cotangents(**{name: np.where(real, array, 0.0) for name, array in cotangents.items()})

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`, with the gradients of their results."""
        return replace(super().take_samples(index), grad_output=self.grad_output[index])

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bounds, one after the other.

        With eps outside the root the deviation of a vector of equal components has no derivative, and little is known
        of one nearby: nothing is judged then, and neither are gradients that the dtype does not hold.
        """
        precision = Precision.of(self.dtype, conventions.get("softmax_dtype", "input"))
        settings = self._settings(conventions)
        if self.memory is None:
            grad_x, grad_weights = reference.encoder_layer_backward(self.x, self.weights, self.grad_output, **settings)
            values = {"grad_x": grad_x}
        else:
            grad_x, grad_memory, grad_weights = reference.decoder_layer_backward(  # type: ignore[assignment]
                self.x, self.memory, self.decoder_weights, self.grad_output, **settings
            )
            values = {"grad_x": grad_x, "grad_memory": grad_memory}
        values |= {f"grad_{path}": _at(grad_weights, path) for path in self.weight_shapes}
        judged = conventions["layer_norm_eps"] == "inside_root" and are_held(values.values(), self.dtype)

        def bounds() -> list[Array]:
            found = self._bounds(conventions, precision)
            return [found[name] for name in values]

        every = [np.full(value.shape, judged) for value in values.values()]
        return bounded_parts(list(values.values()), bounds, precision, self.dtype, every)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that sees the padding."""
        return replace(self, padding_mask=None, memory_padding_mask=None).expected(conventions).allowed

    def _bounds(self, conventions: Conventions, precision: Precision) -> dict[str, Array]:
        of_x, others = layer_back(
            Estimate.exact(self.x),
            None if self.memory is None else Estimate.exact(self.memory),
            self.weights,
            Estimate.exact(self.grad_output),
            self._bearing(conventions, precision),
            padding_mask=self.padding_mask,
            memory_padding_mask=self.memory_padding_mask,
        )
        return {"grad_x": of_x.error, **{f"grad_{path}": one.error for path, one in others.items()}}


def _at(record: Any, path: str) -> Array:
    group, name = path.split(".")
    return np.asarray(getattr(getattr(record, group), name))
