"""The record of an attention that ends before its output projection, continued by one of random numbers.

What stands in a file by itself is often only the part before it. With a projection behind it the record is that of a
whole attention, and what is read of the steps before is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step, Trace, Value
from veriformer.adapters.capture.weights import generator_of, perturbed

PROJECTION = "output projection"
"""What the matrix is called, which is no parameter of the model."""
_PLACE = 2**20


def projected(trace: Trace, seed: int) -> Iterator[Trace]:
    """Yield the record continued by a projection of each of its outputs that has a vector for each position."""
    for output in dict.fromkeys(trace.outputs):
        array = trace.values[output].array
        if array.ndim in (2, 3) and array.dtype.kind == "f" and trace.values[output].origin == "step":
            yield _continued(trace, output, _width(trace, array), seed)


def _width(trace: Trace, output: np.ndarray) -> int:
    """Return the width of the vectors that go in, else that of those that come out."""
    arrays = [trace.values[index].array for index in trace.inputs]
    alike = [one for one in arrays if one.dtype.kind == "f" and one.ndim == output.ndim]
    return int(alike[0].shape[-1]) if alike else int(output.shape[-1])


def _continued(trace: Trace, output: int, width: int, seed: int) -> Trace:
    array = trace.values[output].array
    matrix = perturbed(np.zeros((array.shape[-1], width)), generator_of(seed, _PLACE))
    weight, result = len(trace.values), len(trace.values) + 1
    step = Step(
        "matmul",
        Kind.CONTRACTION,
        (output, weight),
        (result,),
        attributes=MappingProxyType({"factors": (0, 1), "contracted": ((array.ndim - 1,), (0,)), "parallel": ((), ())}),
    )
    values = (*trace.values, Value(matrix, "parameter", PROJECTION), Value(array @ matrix, "step"))
    return replace(trace, values=values, steps=(*trace.steps, step), outputs=(result,))
