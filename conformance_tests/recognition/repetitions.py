"""What a model computes twice from the same values, told once: a norm that is called for a sublayer and a residual."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step, Trace
from veriformer.conformance_tests.drawing.arrays import Array

# Products by parameters stay as they are: how often a sublayer runs is what is judged.
_KINDS = (Kind.OTHER, Kind.ADDITION, Kind.REARRANGEMENT)


def with_each_once(trace: Trace) -> Trace:
    """Return a record in which a step that repeats an earlier one takes its result; the same one where none does.

    Each step keeps its place.
    """
    instead: dict[int, int] = {}
    known: dict[tuple[str, tuple[int, ...]], list[Step]] = {}
    steps = []
    for step in trace.steps:
        mapped = replace(step, operands=tuple(instead.get(one, one) for one in step.operands))
        key = (step.operation, mapped.operands)
        earlier = next((one for one in known.get(key, ()) if _gives_the_same(trace, one, step)), None)
        if step.kind in _KINDS and step.operands and earlier is not None:
            instead.update(zip(step.results, earlier.results, strict=True))
            taken = replace(step, operation="repeated", kind=Kind.REARRANGEMENT, operands=earlier.results)
            steps.append(replace(taken, attributes=MappingProxyType({})))
            continue
        known.setdefault(key, []).append(mapped)
        steps.append(mapped)
    if not instead:
        return trace
    return replace(trace, steps=tuple(steps), outputs=tuple(instead.get(one, one) for one in trace.outputs))


def _gives_the_same(trace: Trace, first: Step, second: Step) -> bool:
    pairs = zip(first.results, second.results, strict=False)
    return len(first.results) == len(second.results) and all(
        _are_the_same(trace.values[one].array, trace.values[other].array) for one, other in pairs
    )


def _are_the_same(first: Array, second: Array) -> bool:
    return (
        first.shape == second.shape
        and first.dtype == second.dtype
        and np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    )
