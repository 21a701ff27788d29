"""Differences a − b rewritten as sums a + (−b), where b is a bias or what a sublayer gives: reading knows sums."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step, Trace, Value
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import factors

# Between a product and a difference stand its bias and what brings it into shape.
_MOST_STEPS = 4


def with_sums(trace: Trace) -> Trace:
    """Return a record in which biases and outputs of projections are added; the same one where none is subtracted."""
    flow = Flow(trace)
    values, steps = list(trace.values), list[Step]()
    for step in trace.steps:
        if not _is_difference(flow, step):
            steps.append(step)
            continue
        first, second = step.operands
        values.append(Value(-flow.array(second), "step"))
        negated = len(values) - 1
        plain = MappingProxyType[str, object]({})
        steps.append(replace(step, operation="negated", operands=(second,), results=(negated,), attributes=plain))
        steps.append(replace(step, kind=Kind.ADDITION, operands=(first, negated), attributes=plain))
    return replace(trace, values=tuple(values), steps=tuple(steps)) if len(steps) > len(trace.steps) else trace


def _is_difference(flow: Flow, step: Step) -> bool:
    """Return whether a step takes a bias, or the output of a projection, from a value that depends on the input."""
    if step.kind != Kind.OTHER or len(step.operands) != 2 or len(step.results) != 1:
        return False
    first, second = step.operands
    one, other, result = flow.array(first), flow.array(second), flow.array(step.results[0])
    if any(array.dtype.kind != "f" for array in (one, other, result)) or one.shape != result.shape or one.ndim < 2:
        return False
    if not flow.depends_on_input(first) or not (_is_bias(flow, second, one.shape[-1]) or _is_projected(flow, second)):
        return False
    if not np.isfinite(result).all() or not other.any():
        # Where nothing is a number, every operation gives what a difference gives.
        return False
    return agree(result, one - other, flow.unit(step.results[0]))


def _is_bias(flow: Flow, value: int, width: int) -> bool:
    array = flow.array(value)
    is_vector = array.ndim > 0 and array.size == array.shape[-1] == width
    return is_vector and flow.is_fixed(value) and flow.depends_on_parameters(value)


def _is_projected(flow: Flow, value: int) -> bool:
    """Return whether a value is the product with a matrix of parameters, perhaps with its bias, in another shape."""
    for _ in range(_MOST_STEPS):
        step = flow.making(value)
        if step is None:
            return False
        if step.kind == Kind.CONTRACTION and len(step.operands) > 1:
            fixed = [one for one in factors(step) if flow.is_fixed(one)]
            return len(fixed) == 1 and flow.depends_on_parameters(fixed[0])
        moving = [one for one in step.operands if flow.depends_on_input(one)]
        if step.kind not in (Kind.ADDITION, Kind.REARRANGEMENT) or len(moving) != 1:
            return False
        value = moving[0]
    return False
