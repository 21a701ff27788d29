"""Going back through sublayers with residual connections and norms, from the last to the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Float64

Stream = Float64[Array, "B L E"]


@dataclass(frozen=True)
class Differentiable:
    """A function of a stream, and the gradients by that stream and by its weights, given that of its result.

    Shapes: streams are (B, L, E); `backward` takes the stream and the gradient, and returns the stream's gradient and
    a record of those of the weights.
    Raises: what the functions raise.
    Source: none; it names the two passes.
    """

    forward: Callable[[Stream], Stream]
    backward: Callable[[Stream, Stream], tuple[Stream, Any]]


@dataclass(frozen=True)
class Sublayer:
    """A sublayer with its norm.

    Shapes: as in `Differentiable`.
    Raises: what these raise.
    Source: Vaswani et al. 2017, section 3.1.
    """

    norm: Differentiable
    function: Differentiable


def through_sublayers(
    x: Stream, sublayers: Sequence[Sublayer], gradient: Stream, *, norm_first: bool
) -> tuple[Stream, list[tuple[Any, Any]]]:
    """Trace the gradient of a loss back through sublayers f with norms n.

    y = x + f(n(x)):  dx = g + n_backward(x, f_backward(n(x), g))                          norm_first (pre-norm)
    y = n(x + f(x)):  dx = s + f_backward(x, s),  s = n_backward(x + f(x), g)              otherwise (post-norm)

    Shapes: x and gradient (B, L, E); to (B, L, E), and for each sublayer the records of its weights and of its norm's.
    Raises: what the sublayers raise.
    Source: Xiong et al. 2020, table 1, differentiated.
    """
    streams = [x]
    for sublayer in sublayers[:-1]:
        streams.append(_result(streams[-1], sublayer, norm_first=norm_first))
    found = []
    for sublayer, stream in zip(reversed(sublayers), reversed(streams), strict=True):
        gradient, of_weights = _back(stream, sublayer, gradient, norm_first=norm_first)
        found.append(of_weights)
    return gradient, found[::-1]


def _result(x: Stream, sublayer: Sublayer, *, norm_first: bool) -> Stream:
    norm, function = sublayer.norm, sublayer.function
    if norm_first:
        return np.asarray(x + function.forward(norm.forward(x)))
    return norm.forward(np.asarray(x + function.forward(x)))


def _back(x: Stream, sublayer: Sublayer, gradient: Stream, *, norm_first: bool) -> tuple[Stream, tuple[Any, Any]]:
    norm, function = sublayer.norm, sublayer.function
    if norm_first:
        grad_normalised, of_weights = function.backward(norm.forward(x), gradient)
        through, of_norm = norm.backward(x, grad_normalised)
        return np.asarray(gradient + through), (of_weights, of_norm)
    grad_sum, of_norm = norm.backward(np.asarray(x + function.forward(x)), gradient)
    through, of_weights = function.backward(x, grad_sum)
    return np.asarray(grad_sum + through), (of_weights, of_norm)
