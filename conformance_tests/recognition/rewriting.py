"""Records in which some steps are written otherwise: what only led to them is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from veriformer.adapters.capture.trace import Step, Trace, Value
from veriformer.conformance_tests.recognition.flow import Flow


def with_steps(
    flow: Flow, values: Sequence[Value], made: Mapping[int, Sequence[Step]], starts: Mapping[int, Sequence[int]]
) -> Trace:
    """Return a record with other steps in place of some, and without what stood between `starts` and these alone.

    `made` has the new steps by the indices of the old ones, and `values` the old values and the new ones behind them.
    """
    trace = flow.trace
    if not made:
        return trace
    behind = {
        each for index in made for one in starts[index] for each in flow.between(one, trace.steps[index].results[0])
    }
    lost = _lost(trace, behind - set(made), made)
    steps = [each for index in range(len(trace.steps)) if index not in lost for each in _of(trace, index, made)]
    return replace(trace, values=tuple(values), steps=tuple(steps))


def _of(trace: Trace, index: int, made: Mapping[int, Sequence[Step]]) -> Sequence[Step]:
    return made.get(index, (trace.steps[index],))


def _lost(trace: Trace, behind: set[int], made: Mapping[int, Sequence[Step]]) -> set[int]:
    """Return the steps behind new ones that nothing reads any longer."""
    lost: set[int] = set()
    read = set(trace.outputs)
    for index in reversed(range(len(trace.steps))):
        if index in behind and read.isdisjoint(trace.steps[index].results):
            lost.add(index)
            continue
        read.update(operand for step in _of(trace, index, made) for operand in step.operands)
    return lost
