"""Steps that take nothing of a value but its shape: what they make does not depend on its numbers."""

from __future__ import annotations

import re
from dataclasses import replace

from veriformer.adapters.capture.trace import Step, Trace

# torch.zeros_like and Tensor.new_zeros, numpy.ones_like, and their fellows in JAX and Keras.
_SHAPE_ALONE = re.compile(r"(^|[._])((zeros|ones|full|empty)_like|new_(zeros|ones|full|empty))\b")


def without_shapes(trace: Trace) -> Trace:
    """Return a record in which what is made in the shape of a value is made of nothing; the same one without any."""
    steps = tuple(replace(step, operands=()) if _takes_shape_alone(step) else step for step in trace.steps)
    return trace if steps == trace.steps else replace(trace, steps=steps)


def _takes_shape_alone(step: Step) -> bool:
    return bool(step.operands) and _SHAPE_ALONE.search(step.operation) is not None
