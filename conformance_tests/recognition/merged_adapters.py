"""Adapters of low rank beside a linear map, read as the one map that both are: W + α/r · A B.

Whether the factor is applied to the input, between the two matrices or behind them makes no difference: what they add
is compared with the product of the matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step, Trace, Value
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap, Maps
from veriformer.conformance_tests.recognition.networks import matrix_of
from veriformer.conformance_tests.recognition.rewriting import with_steps

_ATTRIBUTES = {"factors": (0, 1), "parallel": ((), ())}


@dataclass(frozen=True)
class _Adapted:
    """A sum of a map's output and an adapter's, at a step; `matrix` (in, out) is that of both, for `input`."""

    step: int
    base: LinearMap
    input: int
    weights: tuple[int, ...]
    matrix: Array


def with_merged_adapters(trace: Trace) -> Trace:
    """Return a record in which each map with an adapter is one map, with its matrix made of all three."""
    flow = Flow(trace)
    maps = Maps(flow)
    found = [one for index, step in enumerate(trace.steps) if (one := _adapted(flow, maps, index, step)) is not None]
    if not found:
        return trace
    values, replaced = list(trace.values), dict[int, tuple[Step, Step]]()
    for one in found:
        step, base = trace.steps[one.step], one.base
        values.append(Value(one.matrix, "step"))
        made = Step("adapter", Kind.OTHER, one.weights, (len(values) - 1,), base.module, step.file, step.line)
        operands = (one.input, len(values) - 1, *(() if base.bias is None else (base.bias,)))
        axes = {"contracted": ((trace.values[one.input].array.ndim - 1,), (0,))}
        product = replace(
            step, operation="adapted", kind=Kind.CONTRACTION, operands=operands, attributes={**_ATTRIBUTES, **axes}
        )
        replaced[one.step] = (made, product)
    return with_steps(flow, values, replaced, {one.step: (one.input,) for one in found})


def _adapted(flow: Flow, maps: Maps, index: int, step: Step) -> _Adapted | None:
    if step.kind != Kind.ADDITION or len(step.operands) != 2:
        return None
    for one, other in (step.operands, step.operands[::-1]):
        base = maps.by_output.get(flow.source(one))
        below = _only_map(flow, maps, other)
        above = None if below is None else _only_map(flow, maps, below.input)
        if base is None or below is None or above is None or base.step in (below.step, above.step):
            continue
        found = _as_one(flow, index, base, above, below)
        if found is not None:
            return found
    return None


def _only_map(flow: Flow, maps: Maps, value: int) -> LinearMap | None:
    """Return the map that a value comes from, if it comes from one alone."""
    near = flow.ancestors(value, stop=lambda one: one in maps.by_output)
    found = {maps.by_output[one].step: maps.by_output[one] for one in near if one in maps.by_output}
    return next(iter(found.values())) if len(found) == 1 else None


def _as_one(flow: Flow, index: int, base: LinearMap, above: LinearMap, below: LinearMap) -> _Adapted | None:
    """Return a map and the two of its adapter as one; None where they are not that."""
    result = flow.array(flow.steps[index].results[0])
    matrices = [matrix_of(flow, one) for one in (base, above, below)]
    if any(one is None for one in matrices) or above.bias is not None or below.bias is not None:
        return None
    whole, first, second = (np.asarray(one) for one in matrices)
    if first.shape[0] != whole.shape[0] or second.shape != (first.shape[1], whole.shape[1]):
        return None
    for value in _inputs(flow, base, (*result.shape[:-1], whole.shape[0])):
        x = flow.array(value)
        bias = 0.0 if base.bias is None else flow.array(base.bias).ravel()
        added, product = result - x @ whole - bias, x @ first @ second
        factor = float((added * product).sum() / max(float((product**2).sum()), 1e-300))
        if factor and agree(result, x @ whole + bias + factor * product, flow.unit(flow.steps[index].results[0])):
            weights = (base.weight, above.weight, below.weight)
            return _Adapted(index, base, value, weights, whole + factor * (first @ second))
    return None


def _inputs(flow: Flow, base: LinearMap, shape: tuple[int, ...]) -> Iterator[int]:
    """Yield what a map reads in a shape, before it was rearranged."""
    for value in dict.fromkeys((base.input, flow.source(base.input))):
        if flow.shape(value) == shape:
            yield value
