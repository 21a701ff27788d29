"""Experts whose matrices are one stack of parameters, however their tokens are sorted, gathered or sent to them.

What each expert gives for each token is computed of the parameters: a row of the mixture is a sum of those. So it does
not matter in which order a program multiplies, and with how many rows at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.elementwise import ACTIVATIONS, limits_of
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap

# Of the experts of gpt-oss: σ(1.702 x) x, with both branches clamped.
_STEEPNESS = 1.702
NOTHING_ADDED = "nothing added to up"
"""What is said where gpt-oss adds 1."""
_CLAMPS = re.compile(r"clamp|clip|min", re.IGNORECASE)
_USUAL = ("silu", "gelu", "gelu_tanh", "relu", "relu_squared")
# Those of a gate, up and down.
_MOST_STACKS = 3
# The nearest values of the stream's size behind a router, among which the sum of all experts is.
_MOST_BEHIND = 80
# As many experts as numbers in a row explain every row.
_MOST_EXPERTS = 0.5


def outputs_of_stacks(flow: Flow, router: LinearMap, count: int) -> Iterator[tuple[int, str, Array]]:
    """Yield each value that may be a mixture behind a router of so many columns, with what its experts may be.

    That is said in words, and by what each expert gives for each token (E, N, D). The nearest values come first, which
    may be one expert's alone.
    """
    rows = flow.array(router.input).reshape(-1, flow.shape(router.input)[-1])
    if not len(rows) or not 1 < count <= rows.shape[1] * _MOST_EXPERTS:
        return
    behind = sums_behind(flow, router, rows.size)
    limits = _limits(flow, router.step, behind)
    for summed in behind:
        stacks, biases = _stacks(flow, router, summed, count)
        if len(stacks) > _MOST_STACKS:
            # Those of another layer have joined them.
            return
        found = _outputs(rows, stacks, biases, limits) if stacks else ()
        yield from ((summed, words, outputs) for words, outputs in found)


def _limits(flow: Flow, start: int, behind: Sequence[int]) -> tuple[float, ...]:
    """Return at which numbers values are cut off between a router and its mixture, the last of which is no limit."""
    end = max((flow.maker(one) or start for one in behind), default=start)
    found: dict[float, None] = {}
    for step in flow.steps[start : end + 1]:
        if not _CLAMPS.search(step.operation) or len(step.results) != 1:
            continue
        for operand in (one for one in step.operands if flow.array(one).dtype.kind == "f"):
            cut = limits_of(flow.array(operand), flow.array(step.results[0]))
            if cut is not None and cut[1] is not None:
                found[cut[1]] = None
    return (*found, np.inf)


def sums_behind(flow: Flow, router: LinearMap, size: int) -> list[int]:
    """Return the nearest values of the stream's size behind a router."""
    return sorted(one for one in flow.descendants(router.output) if _is_of_stream(flow, one, size))[:_MOST_BEHIND]


def _is_of_stream(flow: Flow, value: int, size: int) -> bool:
    array = flow.array(value)
    return array.dtype.kind == "f" and array.size == size


def _stacks(flow: Flow, router: LinearMap, summed: int, count: int) -> tuple[list[Array], list[Array]]:
    """Return the parameters with a matrix, and those with a vector, for each expert that a sum is made of."""
    # What the experts read may be the router's rows before they were put into another shape.
    ends = {router.output, *flow.handed_on(router.input)}
    behind = flow.ancestors(summed, stop=ends.__contains__)
    values = [flow.trace.values[one] for one in sorted(behind) if one != router.weight]
    alike = [one.array for one in values if one.origin == "parameter" and one.array.shape[:1] == (count,)]
    return [one for one in alike if one.ndim == 3], [one for one in alike if one.ndim == 2]


def _outputs(
    rows: Array, stacks: Sequence[Array], biases: Sequence[Array], limits: Sequence[float]
) -> Iterator[tuple[str, Array]]:
    """Yield what experts may be, in words, and what each of them gives for each row (E, N, D)."""
    width = rows.shape[1]
    for turned in (False, True):
        matrices = [one.swapaxes(1, 2) if turned else one for one in stacks]
        for into, out in ((order[:-1], order[-1]) for order in permutations(matrices)):
            if out.shape[2] != width or any(one.shape[1] != width for one in into):
                continue
            for words, hidden in _hidden(rows, into, out.shape[1], biases, limits):
                given = hidden @ out
                yield from ((words, given + added) for added in _vectors(biases, width))


def _hidden(
    rows: Array, into: Sequence[Array], size: int, biases: Sequence[Array], limits: Sequence[float]
) -> Iterator[tuple[str, Array]]:
    """Yield what the hidden layers of experts may be (E, N, F)."""
    for gate, up in _branches(rows, into, size, biases):
        for name in _USUAL:
            activated = ACTIVATIONS[name](gate)
            if up is None:
                yield f"feed_forward, {name}", activated
            else:
                yield f"gated_feed_forward, {name}", activated * up
        if up is not None:
            yield from _of_gpt_oss(gate, up, limits)


def _of_gpt_oss(gate: Array, up: Array, limits: Sequence[float]) -> Iterator[tuple[str, Array]]:
    """Yield the hidden layers of gpt-oss's experts (OpenAI 2025): both branches are clamped, and up has 1 added."""
    for limit in limits:
        clamped, linear = np.minimum(gate, limit), np.clip(up, -limit, limit)
        activated = clamped * 0.5 * (1.0 + np.tanh(0.5 * _STEEPNESS * clamped))
        said = f", clamped at {limit:g}" if np.isfinite(limit) else ""
        yield f"gated_feed_forward, x σ({_STEEPNESS:g} x), 1 added to up{said}", activated * (linear + 1.0)
        yield f"gated_feed_forward, x σ({_STEEPNESS:g} x), {NOTHING_ADDED}{said}", activated * linear


def _branches(
    rows: Array, into: Sequence[Array], size: int, biases: Sequence[Array]
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


def _vectors(biases: Sequence[Array], width: int) -> Iterator[Array | float]:
    """Yield what may be added to each expert's rows of a width: its bias, and nothing."""
    yield 0.0
    yield from (one[:, None] for one in biases if one.shape[1] == width)
