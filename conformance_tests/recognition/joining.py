"""Products that are summed over heads afterwards, read as one sum of products: an output projection of each head."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step, Trace
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree

_LONGEST = 3


def with_sums_joined(trace: Trace) -> Trace:
    """Return a trace in which a contraction whose side-by-side axes are all summed over next is one step."""
    users: dict[int, list[int]] = {}
    for index, step in enumerate(trace.steps):
        for operand in dict.fromkeys(step.operands):
            users.setdefault(operand, []).append(index)
    steps: dict[int, Step | None] = {}
    for index, step in enumerate(trace.steps):
        if step.kind == Kind.CONTRACTION and step.attributes.get("parallel", ((), ()))[0]:
            steps.update(_joined(trace, index, step, users))
    if not steps:
        return trace
    kept = (steps.get(index, step) for index, step in enumerate(trace.steps))
    return replace(trace, steps=tuple(step for step in kept if step is not None))


def _joined(trace: Trace, index: int, step: Step, users: dict[int, list[int]]) -> dict[int, Step | None]:
    """Return what the steps of a contraction and of the sum behind it become; nothing where there is no such sum."""
    way, value = [index], step.results[0]
    product = trace.values[value].array
    count = int(np.prod([product.shape[axis] for axis in range(len(step.attributes["parallel"][0]))]))
    for _ in range(_LONGEST):
        if len(users.get(value, ())) != 1 or value in trace.outputs:
            return {}
        (next_index,) = users[value]
        next_step = trace.steps[next_index]
        if len(next_step.results) != 1 or sum(_is_large(trace, one) for one in next_step.operands) != 1:
            return {}
        result = trace.values[next_step.results[0]].array
        if next_step.kind != Kind.REARRANGEMENT:
            return (
                _made_one(step, next_step, product, result, way, next_index)
                if result.size * count == product.size
                else {}
            )
        if result.size != product.size:
            return {}
        way.append(next_index)
        value = next_step.results[0]
    return {}


def _is_large(trace: Trace, value: int) -> bool:
    return trace.values[value].array.size > 1


def _made_one(
    step: Step, last: Step, product: Array, result: Array, way: list[int], end: int
) -> dict[int, Step | None]:
    axes = tuple(range(len(step.attributes["parallel"][0])))
    total = product.sum(axis=axes)
    if total.size != result.size or not agree(result.ravel(), total.ravel()):
        return {}
    contracted = tuple(
        (*parallel, *summed)
        for parallel, summed in zip(step.attributes["parallel"], step.attributes["contracted"], strict=True)
    )
    attributes = {**step.attributes, "contracted": contracted, "parallel": ((), ())}
    joined = replace(step, results=last.results, attributes=MappingProxyType(attributes))
    return {**dict.fromkeys(way), end: joined}
