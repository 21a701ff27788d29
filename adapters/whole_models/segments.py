"""Whether an argument that says to which segment, or document, each token belongs changes anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.adapters.capture.inputs import SEGMENTS
from veriformer.adapters.whole_models.arguments import parameters_of
from veriformer.adapters.whole_models.sequence import Sequences

_LENGTH = 6


def segments_without_effect(sequences: Sequences, draw: Any, longest: int) -> tuple[str, ...]:
    """Return the arguments for segments with which a model returns the same, whatever the segments are.

    `draw(batch, length)` returns random sequences.
    """
    if sequences.axes != (0, 1) or sequences.is_fixed:
        return ()
    names = [one.name for one in parameters_of(sequences.stage) if SEGMENTS.match(one.name)]
    inputs = sequences.as_framework(draw(2, min(_LENGTH, longest)))
    shape = tuple(int(size) for size in inputs.shape[:2])
    if shape[1] < 2:
        return ()
    one = np.zeros(shape, np.int64)
    other = np.broadcast_to(np.arange(shape[1]) >= shape[1] // 2, shape).astype(np.int64)
    return tuple(name for name in names if _is_same(sequences, inputs, name, one, other))


def _is_same(sequences: Sequences, inputs: Any, name: str, *segments: np.ndarray[Any, np.dtype[Any]]) -> bool:
    try:
        results = [
            sequences.as_numpy(sequences.outputs(inputs, {name: sequences.as_framework(one)})) for one in segments
        ]
    except Exception:
        # What refuses them here may want others.
        return False
    return all(np.array_equal(result, results[0]) for result in results)
