"""The inputs of the backward passes of whole Transformers, and the gradients that they return."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.gradients import GradientInputs, are_held
from veriformer.conformance_tests.operations.models.bounds import ModelEstimates, of_models
from veriformer.conformance_tests.operations.models.cases import ModelCase
from veriformer.conformance_tests.operations.models.drawing import below
from veriformer.conformance_tests.operations.models.inputs import AnyTokenInputs, AnyTranslationInputs, ModelInputs
from veriformer.conformance_tests.operations.models.trees import arrays_by_path, with_arrays_at
from veriformer.conformance_tests.operations.models_backward.bounds import (
    ModelGradients,
    encoder_decoder_back,
    stack_back,
)
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.conformance_tests.rounding.sublayers_back import Gradients

Forward = AnyTokenInputs | AnyTranslationInputs


def _drawn(case: ModelCase, shape: Shape) -> Array:
    """Return gradients of a result, of the case's palette and from a generator of their own."""
    generator = np.random.default_rng([case.seed, 2])
    return round_to_dtype(fill(generator, shape, case.palette), case.dtype)


def _shrunk(forward: Any, case: ModelCase) -> Any:
    """Return the inputs with smaller matrices in the layers, where layers stand on others.

    The bounds of gradients grow by a layer forwards and by one back. In two layers of an encoder-decoder they were
    thousands of times larger than the gradients, and saw half of the mistakes that they see at a quarter of the size.
    """
    stacks = 2 if case.source_length else 1
    factor = 0.5 ** (stacks * (case.layers - 1))
    if factor == 1.0:
        return forward
    arrays = {
        path: round_to_dtype(factor * array, case.dtype) if "layers." in path and array.ndim > 1 else array
        for path, array in arrays_by_path(forward.weights).items()
    }
    return replace(forward, weights=with_arrays_at(forward.weights, arrays))


@dataclass(frozen=True, eq=False)
class ModelBackwardInputs(SeveralResults, GradientInputs, ModelInputs):
    """What the backward passes of models have in common: the gradients of the results, 0 at padded tokens.

    A weight's gradient is a sum over all tokens of all samples, so that no sample is a case of its own.
    """

    forward: ClassVar[type[Forward]]
    grad_output: Array = field(kw_only=True)

    @classmethod
    def draw(cls, operation: str, case: ModelCase) -> Self:
        """Return the inputs that a case describes: those of the forward pass, and gradients of their palette."""
        forward = _shrunk(cls.forward.draw(operation, case), case)
        given = {name: value for name, value in vars(forward).items() if not name.startswith("_")}
        nothing = np.zeros(forward.result_shape)
        return cls(**given, grad_output=nothing).with_cotangents(grad_output=_drawn(case, nothing.shape))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call, by the interface's names."""
        return {**super().arguments(), "grad_output": self.grad_output}

    def with_cotangents(self, **cotangents: Array) -> Self:
        """Return inputs with another gradient of the result, 0 at padded tokens."""
        real = self._judged()[..., None]
        return super().with_cotangents(**{name: np.where(real, array, 0.0) for name, array in cotangents.items()})

    def _gradients(self, conventions: Conventions) -> Gradients:
        """Return the gradients with their error bounds."""
        raise NotImplementedError

    def _parts_of(self, conventions: Conventions) -> ModelGradients:
        return ModelGradients(ModelEstimates(self.config, of_models(conventions), Precision.of(self.dtype)))

    @cached_property
    def parts(self) -> dict[str, Shape]:
        """The gradients, each with the shape of its weight."""
        return {f"grad_{path}": array.shape for path, array in arrays_by_path(self.weights).items()}

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact gradients and their error bounds, one after the other.

        With eps outside the root the deviation of a vector of equal components has no derivative, and little is known
        of one nearby: nothing is judged then, and neither are gradients that the dtype does not hold.
        """
        backward = getattr(reference, self.operation)
        gradients = arrays_by_path(backward(**self.arguments(), conventions=of_models(conventions)))
        paths = [name.removeprefix("grad_") for name in self.parts]

        def bounds() -> list[Array]:
            found = self._gradients(conventions)
            return [found[path].error for path in paths]

        values = [gradients[path] for path in paths]
        judged = conventions["layer_norm_eps"] == "inside_root" and are_held(values, self.dtype)
        every = [np.full(value.shape, judged) for value in values]
        return bounded_parts(values, bounds, Precision.of(self.dtype), self.dtype, every)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that sees every token: see `Trial.equal`."""
        unmasked: Any = {
            name: None for name in ("padding_mask", "source_padding_mask", "target_padding_mask") if hasattr(self, name)
        }
        return replace(self, **unmasked).expected(conventions).allowed


@dataclass(frozen=True, eq=False)
class TokenBackwardInputs(ModelBackwardInputs, AnyTokenInputs):
    """Inputs of an encoder or a language model, and the gradients of its results."""

    forward: ClassVar[type[Forward]] = AnyTokenInputs
    weights: reference.TransformerWeights

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`, with the gradients of their results."""
        return replace(super().take_samples(index), grad_output=self.grad_output[index])

    def _gradients(self, conventions: Conventions) -> Gradients:
        gradient = Estimate.exact(self.grad_output)
        parts = self._parts_of(conventions)
        logits = not self._is_encoder
        return stack_back(parts, self.tokens, self.weights, self._visible(False), gradient, with_logits=logits)


@dataclass(frozen=True, eq=False)
class TranslationBackwardInputs(ModelBackwardInputs, AnyTranslationInputs):
    """Inputs of an encoder-decoder, and the gradients of its logits."""

    forward: ClassVar[type[Forward]] = AnyTranslationInputs
    weights: reference.EncoderDecoderWeights

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`, with the gradients of their results."""
        return replace(super().take_samples(index), grad_output=self.grad_output[index])

    def _gradients(self, conventions: Conventions) -> Gradients:
        real, source_real = (
            np.ones(tokens.shape, dtype=bool) if mask is None else mask
            for tokens, mask in ((self.target, self.target_padding_mask), (self.source, self.source_padding_mask))
        )
        visible = real[:, None, None, :] & below(self.length, True)
        seen = source_real[:, None, None, :]
        gradient, parts = Estimate.exact(self.grad_output), self._parts_of(conventions)
        return encoder_decoder_back(parts, self.source, self.target, self.weights, visible, seen, gradient)
