"""Experts whose matrices are one stack of parameters, however their tokens are sorted, gathered or sent to them.

What each expert gives for each token is computed of the parameters: a row of the mixture is a sum of those. So it does
not matter in which order a program multiplies, and with how many rows at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree, unit_of
from veriformer.conformance_tests.recognition.elementwise import ACTIVATIONS
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap

_USUAL = ("silu", "gelu", "gelu_tanh", "relu", "relu_squared")
# The nearest values of the stream's size behind a router: the mixture is among them.
_MOST_SUMS = 8
# As many experts as numbers in a row explain every row.
_MOST_EXPERTS = 0.5


@dataclass(frozen=True, eq=False)
class Computed:
    """What every expert's output is multiplied by for each token (N, E), the value that is their sum, and what the
    experts are, in words.
    """

    shares: Array
    summed: int
    network: str


@dataclass(frozen=True, eq=False)
class _Stack:
    name: str
    matrices: Array


def computed_mixture(flow: Flow, router: LinearMap, count: int) -> Computed | None:
    """Return the mixture behind a router of so many columns, of experts in stacks of parameters; None without one."""
    rows = flow.array(router.input).reshape(-1, flow.shape(router.input)[-1])
    if not len(rows) or not 1 < count <= rows.shape[1] * _MOST_EXPERTS:
        return None
    after = sorted(one for one in flow.descendants(router.output) if _is_of_stream(flow, one, rows.size))
    for summed in after[:_MOST_SUMS]:
        stacks, biases = _stacks(flow, router, summed, count)
        for network, outputs in _outputs(rows, stacks, biases) if stacks else ():
            shares = _solved(flow.array(summed).reshape(rows.shape), outputs)
            if shares is not None:
                return Computed(shares, summed, network)
    return None


def _is_of_stream(flow: Flow, value: int, size: int) -> bool:
    array = flow.array(value)
    return array.dtype.kind == "f" and array.size == size


def _stacks(flow: Flow, router: LinearMap, summed: int, count: int) -> tuple[list[_Stack], list[_Stack]]:
    """Return the parameters with a matrix, and those with a vector, for each expert that a sum is made of."""
    behind = flow.ancestors(summed, stop=lambda one: one in (router.input, router.output))
    parameters = [(one, flow.trace.values[one]) for one in sorted(behind) if one != router.weight]
    known = [(value.name, value.array) for _, value in parameters if value.origin == "parameter"]
    alike = [_Stack(name, array) for name, array in known if array.shape[:1] == (count,)]
    return [one for one in alike if one.matrices.ndim == 3], [one for one in alike if one.matrices.ndim == 2]


def _outputs(rows: Array, stacks: Sequence[_Stack], biases: Sequence[_Stack]) -> Iterator[tuple[str, Array]]:
    """Yield what experts may be, in words, and what each of them gives for each row (E, N, D)."""
    width = rows.shape[1]
    for turned in (False, True):
        matrices = [one.matrices.swapaxes(1, 2) if turned else one.matrices for one in stacks]
        for into, out in ((order[:-1], order[-1]) for order in permutations(matrices)):
            if out.shape[2] != width or any(one.shape[1] != width for one in into):
                continue
            for words, hidden in _hidden(rows, into, out.shape[1], biases):
                given = hidden @ out
                yield from ((words, given + added) for added in _vectors(biases, width))


def _hidden(rows: Array, into: Sequence[Array], size: int, biases: Sequence[_Stack]) -> Iterator[tuple[str, Array]]:
    """Yield what the hidden layers of experts may be (E, N, F)."""
    for gate, up in _branches(rows, into, size, biases):
        for name in _USUAL:
            activated = ACTIVATIONS[name](gate)
            yield (
                (f"feed_forward, {name}", activated)
                if up is None
                else (
                    f"gated_feed_forward, {name}",
                    activated * up,
                )
            )


def _branches(
    rows: Array, into: Sequence[Array], size: int, biases: Sequence[_Stack]
) -> Iterator[tuple[Array, Array | None]]:
    """Yield what is activated, and what that is multiplied with, None where it is nothing."""
    made = [rows @ one for one in into]
    if len(made) == 2 and {one.shape[-1] for one in made} == {size}:
        yield made[0], made[1]
    if len(made) != 1:
        return
    (only,) = made
    for added in (only + bias for bias in _vectors(biases, only.shape[-1])):
        if only.shape[-1] == size:
            yield added, None
        elif only.shape[-1] == 2 * size:
            halves = added[..., :size], added[..., size:]
            pairs = added[..., ::2], added[..., 1::2]
            for first, second in (halves, pairs):
                yield first, second
                yield second, first


def _vectors(biases: Sequence[_Stack], width: int) -> Iterator[Array | float]:
    """Yield what may be added to each expert's rows of a width: its bias, and nothing."""
    yield 0.0
    yield from (one.matrices[:, None] for one in biases if one.matrices.shape[1] == width)


def _solved(summed: Array, outputs: Array) -> Array | None:
    """Return the weights (N, E) with which rows are sums of the outputs for them; None where they are none."""
    unit = unit_of(summed)
    weights = np.zeros((len(summed), len(outputs)))
    for token, row in enumerate(summed):
        own = outputs[:, token].T
        weights[token] = np.linalg.lstsq(own, row, rcond=None)[0]
        # Most hypotheses are refuted by the first rows.
        if token == 0 and not agree(row, own @ weights[token], unit):
            return None
    return weights if agree(summed, np.einsum("ne,end->nd", weights, outputs), unit) else None
