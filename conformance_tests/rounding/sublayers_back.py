"""Rounding errors carried back through sublayers with residual connections and norms, from the last to the first.

The stream that each sublayer reads is estimated on the way forward, the gradient of its result on the way back. Both
reach the gradients of the sublayer's weights, of its norm, and of the stream before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from veriformer.conformance_tests.rounding.estimates import Estimate, added
from veriformer.conformance_tests.rounding.precision import Precision

# The gradients of weights, by their dotted path in the tree of the weights.
Gradients = dict[str, Estimate]


@dataclass(frozen=True)
class Step:
    """A function of a stream: its result, and the gradients of the stream and of its weights."""

    forward: Callable[[Estimate], Estimate]
    backward: Callable[[Estimate, Estimate], tuple[Estimate, Gradients]]


@dataclass(frozen=True)
class Sublayer:
    """A sublayer with its norm."""

    norm: Step
    function: Step


# Where an architecture has no norm.
NOTHING = Step(lambda x: x, lambda x, gradient: (gradient, {}))


@dataclass(frozen=True)
class Passed:
    """A sublayer that a stream has passed: n(x), which the sublayer reads, or x + f(x), which the norm reads."""

    sublayer: Sublayer
    x: Estimate
    between: Estimate
    norm_first: bool
    precision: Precision

    def result(self) -> Estimate:
        """Return what the sublayer and its norm make of the stream."""
        if self.norm_first:
            return added(self.x, self.sublayer.function.forward(self.between), self.precision)
        return self.sublayer.norm.forward(self.between)


def forward_through(
    x: Estimate, sublayers: Sequence[Sublayer], precision: Precision, *, norm_first: bool
) -> list[Passed]:
    """Return the sublayers as a stream passes them; the last has its result in itself."""
    passed: list[Passed] = []
    for sublayer in sublayers:
        norm, function = sublayer.norm, sublayer.function
        y = passed[-1].result() if passed else x
        between = norm.forward(y) if norm_first else added(y, function.forward(y), precision)
        passed.append(Passed(sublayer, y, between, norm_first, precision))
    return passed


def back_through(passed: Sequence[Passed], gradient: Estimate) -> tuple[Estimate, Gradients]:
    """Return the gradients of the stream and of all weights, given that of the result."""
    found: Gradients = {}
    for one in reversed(passed):
        gradient, of_weights = _back(one, gradient)
        found |= of_weights
    return gradient, found


def _back(passed: Passed, gradient: Estimate) -> tuple[Estimate, Gradients]:
    norm, function = passed.sublayer.norm, passed.sublayer.function
    if passed.norm_first:
        grad_normalised, found = function.backward(passed.between, gradient)
        through, of_norm = norm.backward(passed.x, grad_normalised)
        return added(gradient, through, passed.precision), found | of_norm
    grad_sum, of_norm = norm.backward(passed.between, gradient)
    through, found = function.backward(passed.x, grad_sum)
    return added(grad_sum, through, passed.precision), found | of_norm


def under(path: str, gradients: Gradients) -> Gradients:
    """Return gradients whose paths begin with another."""
    return {f"{path}.{name}": one for name, one in gradients.items()}
