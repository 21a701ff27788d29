"""Models that take the samples of their input apart, and go through them in a loop."""

from __future__ import annotations

from veriformer.adapters.capture.trace import Kind, Trace


def takes_samples_apart(trace: Trace) -> bool:
    """Return whether nothing reads the first input but what cuts it into its samples, of which there are several."""
    if not trace.inputs:
        return False
    index = trace.inputs[0]
    shape = trace.values[index].array.shape
    return len(shape) > 1 and shape[0] > 1 and _samples_of(trace, index) == shape[0]


def _samples_of(trace: Trace, index: int) -> int:
    """Return how many samples are cut off an array, 0 where something else reads it."""
    shape = trace.values[index].array.shape
    count = 0
    for step in trace.steps:
        if index not in step.operands:
            continue
        shapes = {trace.values[result].array.shape for result in step.results}
        if step.kind is Kind.REARRANGEMENT and shapes == {shape}:
            count += sum(_samples_of(trace, result) for result in step.results)
        elif step.kind is Kind.REARRANGEMENT and shapes <= {shape[1:], (1, *shape[1:])}:
            count += len(step.results)
        else:
            return 0
    return count
