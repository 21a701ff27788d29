"""Recognising what a law compares as a part of what a call returned."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.spec.operations import OPERATIONS


def parts(call: CallRecord) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays that a call returned, each with its index into the result; none if it raised."""
    if call.result is None:
        return
    if not OPERATIONS[call.operation].returns_several_arrays:
        yield "", call.result
        return
    start = 0
    for position, shape in enumerate(call.shapes):
        yield f"[{position}]", call.result[start : start + prod(shape)].reshape(shape)
        start += prod(shape)


def selected(result: np.ndarray, part: np.ndarray) -> str | None:
    """Return the index of `part` in a result: empty, or the first or last few along an axis; None if it is no part."""
    whole = np.asarray(result, dtype=np.float64)
    if whole.ndim != part.ndim:
        return None
    shorter = [axis for axis in range(part.ndim) if part.shape[axis] != whole.shape[axis]]
    if len(shorter) > 1 or any(part.shape[axis] > whole.shape[axis] for axis in shorter):
        return None
    if not shorter:
        return "" if np.array_equal(whole, part, equal_nan=True) else None
    axis, length = shorter[0], part.shape[shorter[0]]
    for text, index in ((f":{length}", slice(length)), (f"-{length}:", slice(-length, None))):
        if length and np.array_equal(whole[(slice(None),) * axis + (index,)], part, equal_nan=True):
            return f"[{', '.join([':'] * axis + [text])}]"
    return None
