"""Which sample each number of a value is of, where samples and heads share an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import Maps, canonical_factors, factors
from veriformer.conformance_tests.recognition.tracking import places

# Between a projection and the product of its heads there are fewer steps.
_LONGEST = 40


def samples_are_last(flow: Flow, maps: Maps, product: int, batch: int) -> bool:
    """Return whether a product of two values of the pass counts its heads before its samples, as (H · B, L, D).

    False where it does not, or where that cannot be told.
    """
    step = flow.steps[product]
    sides = canonical_factors(flow, step)
    parallel = len(step.attributes.get("parallel", ((),))[0])
    if batch < 2 or sides is None or not parallel:
        return False
    for place, value in enumerate(factors(step)):
        labels = samples_of(flow, maps, value, batch)
        if labels is None:
            continue
        axes = _canonical_axes(flow, value, step.attributes, place)
        rows = labels.transpose(axes)
        own = rows.reshape(int(np.prod(rows.shape[:parallel])), -1)[:, 0]
        if len(own) > batch and len(own) % batch == 0:
            return bool((own == np.tile(np.arange(batch), len(own) // batch)).all())
    return False


def _canonical_axes(flow: Flow, value: int, attributes: Mapping[str, Any], place: int) -> list[int]:
    summed, parallel = attributes["contracted"][place], attributes["parallel"][place]
    own = [axis for axis in range(len(flow.shape(value))) if axis not in summed and axis not in parallel]
    return [*parallel, *own, *summed]


def samples_of(flow: Flow, maps: Maps, value: int, batch: int, depth: int = _LONGEST) -> Array | None:
    """Return the sample of each number of a value, counted in the projection that it was made from; None if unknown."""
    array = flow.array(value)
    if value in maps.by_output:
        if array.ndim < 2 or array.shape[0] % batch:
            return None
        # Rows of several positions may be those of one sample after the other.
        rows = np.arange(array.shape[0]) // (array.shape[0] // batch)
        return np.broadcast_to(rows.reshape(-1, *(1 for _ in array.shape[1:])), array.shape)
    step = flow.making(value)
    if step is None or not depth:
        return None
    moving = [one for one in dict.fromkeys(step.operands) if flow.depends_on_input(one)]
    moving = [one for one in moving if flow.array(one).dtype.kind == "f"]
    if step.kind == Kind.REARRANGEMENT:
        return _moved(flow, maps, moving, value, batch, depth)
    for one in moving:
        if flow.array(one).size == array.size:
            found = samples_of(flow, maps, one, batch, depth - 1)
            return None if found is None else found.reshape(array.shape)
    return None


def _moved(flow: Flow, maps: Maps, moving: list[int], value: int, batch: int, depth: int) -> Array | None:
    labels = [samples_of(flow, maps, one, batch, depth - 1) for one in moving]
    known = [label.ravel() for label in labels if label is not None]
    if not known or len(known) < len(labels):
        return None
    found = places(np.concatenate([flow.array(one).ravel() for one in moving]), flow.array(value))
    return None if found is None else np.concatenate(known)[found]
