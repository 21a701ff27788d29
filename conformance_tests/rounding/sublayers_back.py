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


def through_sublayers(
    x: Estimate, sublayers: Sequence[Sublayer], gradient: Estimate, precision: Precision, *, norm_first: bool
) -> tuple[Estimate, Gradients]:
    """Return the gradients of the stream and of all weights, given that of the result."""
    streams = [x]
    for sublayer in sublayers[:-1]:
        streams.append(_result(streams[-1], sublayer, precision, norm_first=norm_first))
    found: Gradients = {}
    for sublayer, stream in zip(reversed(sublayers), reversed(streams), strict=True):
        gradient, of_weights = _back(stream, sublayer, gradient, precision, norm_first=norm_first)
        found |= of_weights
    return gradient, found


def result_of_sublayers(
    x: Estimate, sublayers: Sequence[Sublayer], precision: Precision, *, norm_first: bool
) -> Estimate:
    """Return what the sublayers make of a stream."""
    for sublayer in sublayers:
        x = _result(x, sublayer, precision, norm_first=norm_first)
    return x


def _result(x: Estimate, sublayer: Sublayer, precision: Precision, *, norm_first: bool) -> Estimate:
    norm, function = sublayer.norm, sublayer.function
    if norm_first:
        return added(x, function.forward(norm.forward(x)), precision)
    return norm.forward(added(x, function.forward(x), precision))


def _back(
    x: Estimate, sublayer: Sublayer, gradient: Estimate, precision: Precision, *, norm_first: bool
) -> tuple[Estimate, Gradients]:
    norm, function = sublayer.norm, sublayer.function
    if norm_first:
        grad_normalised, found = function.backward(norm.forward(x), gradient)
        through, of_norm = norm.backward(x, grad_normalised)
        return added(gradient, through, precision), found | of_norm
    grad_sum, of_norm = norm.backward(added(x, function.forward(x), precision), gradient)
    through, found = function.backward(x, grad_sum)
    return added(grad_sum, through, precision), found | of_norm


def under(path: str, gradients: Gradients) -> Gradients:
    """Return gradients whose paths begin with another."""
    return {f"{path}.{name}": one for name, one in gradients.items()}
