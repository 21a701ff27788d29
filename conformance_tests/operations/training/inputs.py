"""The inputs of training steps, and what becomes of the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.adapters.results import join
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.models.bounds import ModelEstimates, of_models
from veriformer.conformance_tests.operations.models.drawing import drawn_configuration, drawn_weights
from veriformer.conformance_tests.operations.models.trees import arrays_by_path, with_arrays_at
from veriformer.conformance_tests.operations.models_backward.bounds import ModelGradients
from veriformer.conformance_tests.operations.training.bounds import Optimizer, batch_back, no_moments
from veriformer.conformance_tests.operations.training.cases import TrainingCase
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision

_IGNORED = 0


@dataclass(frozen=True, eq=False)
class TrainingInputs(SeveralResults):
    """Batches of tokens (T, B, L), the weights to train, and the settings of AdamW."""

    operation: ClassVar[str] = "training_steps"
    dtype: str
    tokens: Array
    weights: reference.TransformerWeights
    config: reference.TransformerConfiguration
    learning_rates: tuple[float, ...]
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    ignore_index: int | None = None
    micro_batches: int | None = None

    @classmethod
    def draw(cls, operation: str, case: TrainingCase) -> Self:
        """Return the inputs that a case describes.

        No row begins with two ignored tokens, so that each has a target, even where labels are not shifted.
        """
        generator = np.random.default_rng(case.seed)
        config = drawn_configuration(case)
        weights = drawn_weights(reference.TransformerWeights, config, case, generator)
        tokens = generator.integers(0, case.vocabulary, (len(case.learning_rates), case.batch, case.length))
        if case.ignoring:
            tokens[..., :2] = np.where(tokens[..., :2] == _IGNORED, case.vocabulary - 1, tokens[..., :2])
        return cls(
            case.dtype,
            tokens,
            weights,
            config,
            case.learning_rates,
            case.beta1,
            case.beta2,
            case.adam_eps,
            case.weight_decay,
            _IGNORED if case.ignoring else None,
            case.batch if case.in_parts else None,
        )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call, by the interface's names."""
        names = (one.name for one in fields(self) if one.name != "dtype")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def parts(self) -> dict[str, Shape]:
        """The losses, and the trained weights, each with the shape that it had."""
        of_weights = {f"weights.{path}": array.shape for path, array in arrays_by_path(self.weights).items()}
        return {"losses": (len(self.learning_rates),), **of_weights}

    def first(self, steps: int) -> Self:
        """Return the inputs of the first steps alone."""
        return replace(self, tokens=self.tokens[:steps], learning_rates=self.learning_rates[:steps])

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index` of every batch."""
        return replace(self, tokens=self.tokens[:, index])

    def trained(self, joined: Array) -> reference.TransformerWeights:
        """Return the weights in a result of these inputs."""
        found = {path: self.part(f"weights.{path}")(joined) for path in arrays_by_path(self.weights)}
        trained: reference.TransformerWeights = with_arrays_at(self.weights, found)
        return trained

    def optimizer(self, conventions: Conventions) -> Optimizer:
        """Return the settings of AdamW under conventions."""
        return Optimizer(self.beta1, self.beta2, self.eps, self.weight_decay, conventions)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the losses and the trained weights with their error bounds, one after the other.

        Judged is what follows from weights that are known exactly: all up to the first step that moves them, since
        the error of a step grows in the next ones by more than any bound could promise.
        """
        known, count = self._known(conventions), len(self.learning_rates)
        judged = np.repeat(known == count, self.result_shape[0])
        judged[:count] = np.arange(count) < known
        judged &= _is_judged(conventions)
        losses, weights = reference.training_steps(
            **self.arguments(),
            conventions=of_models(conventions),
            eps_placement=conventions["adamw_eps"],
            decay=conventions["adamw_decay"],
            decayed=conventions["decayed_weights"],
        )
        value = join([losses, *arrays_by_path(weights).values()])
        return bounded(value, lambda: self._errors(known, conventions), Precision.of(self.dtype), self.dtype, judged)

    def _known(self, conventions: Conventions) -> int:
        """Return before how many steps the weights are the given ones."""
        optimizer, known = self.optimizer(conventions), 1
        while known < len(self.learning_rates) and optimizer.leaves_alone(self.learning_rates[known - 1]):
            known += 1
        return known

    def _errors(self, known: int, conventions: Conventions) -> Array:
        """Return the errors of the losses of these steps, and of the weights after the last of them."""
        follower = Follower(self, conventions)
        steps = [follower.step(self.weights) for _ in range(known)]
        losses = np.zeros(len(self.learning_rates))
        losses[:known] = [step.loss.error for step in steps]
        return join([losses, *(weight.error for weight in steps[-1].weights.values())])


def _is_judged(conventions: Conventions) -> bool:
    """Return whether steps are judged: with eps outside the root a deviation of 0 has no derivative, and little is
    known of one nearby.
    """
    return bool(conventions["layer_norm_eps"] == "inside_root")


@dataclass(frozen=True)
class Step:
    """The loss of a step and the weights after it, by their paths."""

    loss: Estimate
    weights: Mapping[str, Estimate]


class Follower:
    """Follows the steps of a training from the weights before each of them, and keeps the moments."""

    def __init__(self, inputs: TrainingInputs, conventions: Conventions) -> None:
        self.inputs = inputs
        self.optimizer = inputs.optimizer(conventions)
        self.precision = Precision.of(inputs.dtype)
        model = ModelEstimates(inputs.config, of_models(conventions), self.precision)
        self.parts = ModelGradients(model)
        self._judged = _is_judged(conventions)
        self._moments = no_moments(inputs.weights)
        self._number = 0

    def step(self, weights: reference.TransformerWeights) -> Step:
        """Return the next step, from the weights before it."""
        inputs, number = self.inputs, self._number
        batch: Sequence[Array] = np.split(inputs.tokens[number], inputs.micro_batches or 1)
        loss, gradients = batch_back(self.parts, batch, weights, inputs.ignore_index)
        self._number += 1
        moved = {
            path: self.optimizer.of(path).moved(
                array, gradients[path], self._moments[path], self._number, inputs.learning_rates[number], inputs.dtype
            )
            for path, array in arrays_by_path(weights).items()
        }
        self._moments = {path: (first, second) for path, (_, first, second) in moved.items()}
        return Step(loss, {path: weight for path, (weight, _, _) in moved.items()})

    def expected(self, estimate: Estimate) -> Expected:
        """Return an estimate as what is expected of an implementation."""
        judged = np.full(estimate.value.shape, self._judged)
        return Expected(estimate.value, estimate.error * self.precision.with_reference, judged)
