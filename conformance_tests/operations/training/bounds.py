"""Errors of training: each step is judged from the weights that it started with.

A step's errors are those of the logits, carried on through the loss and back to every weight, then through AdamW, whose
moments bring along the errors of the gradients of all steps before. The weights before each step are known: those that
were given, as long as no step has moved them, or those that the implementation returned after fewer steps. So no error
of a step goes through the model again, where it could grow without a bound. A weight that is spared the decay is one
whose decay is 0.

A batch in M parts adds up M gradients, each weighed: (M + 4) u of the sum of their sizes. Its loss is such a sum too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.adamw.bounds import Settings, step_bounds
from veriformer.conformance_tests.operations.models.bounds import language_model_estimate
from veriformer.conformance_tests.operations.models.drawing import below
from veriformer.conformance_tests.operations.models.trees import arrays_by_path
from veriformer.conformance_tests.operations.models_backward.bounds import ModelGradients, stack_back
from veriformer.conformance_tests.operations.next_token.estimates import (
    Judged,
    next_token_back,
    next_token_loss_estimate,
)
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.conformance_tests.rounding.sublayers_back import Gradients
from veriformer.reference.training import decays

# A weight's two moments.
Moments = dict[str, tuple[Estimate, Estimate]]


@dataclass(frozen=True)
class Optimizer:
    """The settings of AdamW that all steps share, under conventions."""

    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    conventions: Conventions

    def of(self, path: str) -> Optimizer:
        """Return the settings for the weight at a path: one that is spared has a decay of 0."""
        decayed: Any = self.conventions["decayed_weights"]
        return self if decays(path.rpartition(".")[2], decayed) else replace(self, weight_decay=0.0)

    def moved(
        self, array: Array, gradient: Estimate, moments: tuple[Estimate, Estimate], step: int, rate: float, dtype: str
    ) -> tuple[Estimate, Estimate, Estimate]:
        """Return a weight, known exactly, and its moments after a step."""
        own: dict[str, Any] = {name: getattr(self, name) for name in ("beta1", "beta2", "eps", "weight_decay")}
        placement, decay = self.conventions["adamw_eps"], self.conventions["adamw_decay"]
        first, second = moments
        exact = reference.adamw_step(
            array, gradient.value, first.value, second.value,
            step=step, learning_rate=rate, **own, eps_placement=placement, decay=decay,
        )  # fmt: skip
        eps = self.eps if placement == "after_correction" else self.eps / (1.0 - self.beta2**step) ** 0.5
        lost = (rate if decay == "times_learning_rate" else 1.0) * self.weight_decay
        errors = step_bounds(
            array,
            gradient.value,
            (first.value, second.value),
            exact,
            Settings(step, rate, self.beta1, self.beta2, eps, lost),
            Precision.of(dtype),
            (gradient.error, first.error, second.error),
        )
        weight, mean, square = (Estimate(value, error) for value, error in zip(exact, errors, strict=True))
        return weight, mean, square

    def leaves_alone(self, rate: float) -> bool:
        """Return whether a step of this rate leaves all weights as they are."""
        shrinks = self.weight_decay > 0.0 and self.conventions["adamw_decay"] != "times_learning_rate"
        return rate == 0.0 and not shrinks


def batch_back(
    parts: ModelGradients, batches: Sequence[Array], weights: Any, ignore_index: int | None
) -> tuple[Estimate, Gradients]:
    """Return the loss of a batch, which is processed in parts, and the gradients of all weights."""
    model, precision = parts.model, parts.model.precision
    visible = below(batches[0].shape[1], True)
    read = [language_model_estimate(model, tokens, weights, visible) for tokens in batches]
    judged = [Judged.of(logits, tokens, ignore_index) for logits, tokens in zip(read, batches, strict=True)]
    count = sum(len(one.targets) for one in judged)
    found = [
        stack_back(parts, tokens, weights, visible, next_token_back(one, count, precision), with_logits=True)
        for one, tokens in zip(judged, batches, strict=True)
        if len(one.targets)
    ]
    shares = [len(one.targets) / count for one in judged if len(one.targets)]
    means = [next_token_loss_estimate(one, precision) for one in judged if len(one.targets)]
    weighed = [Estimate(share * mean.value, share * mean.error) for share, mean in zip(shares, means, strict=True)]
    return _summed(weighed, precision), {name: _summed([one[name] for one in found], precision) for name in found[0]}


def _summed(parts: Sequence[Estimate], precision: Precision) -> Estimate:
    value = np.asarray(sum(one.value for one in parts))
    error = np.asarray(sum(one.error for one in parts))
    if len(parts) == 1:
        return Estimate(value, error)
    sizes = sum(np.abs(one.value) + one.error for one in parts)
    return Estimate(value, np.asarray(error + (len(parts) + 4) * precision.stored * sizes + precision.tiny))


def no_moments(weights: Any) -> Moments:
    """Return the moments before the first step."""
    return {
        path: (Estimate.exact(np.zeros(array.shape)), Estimate.exact(np.zeros(array.shape)))
        for path, array in arrays_by_path(weights).items()
    }
