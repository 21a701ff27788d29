"""How exactly a model was computed as a whole, by the coarsest of its steps."""

from __future__ import annotations

from veriformer.conformance_tests.recognition.agreement import DOUBLE, unit_of
from veriformer.conformance_tests.recognition.flow import Flow

# As in recognition/agreement.py, for whole models: errors grow from layer to layer, of which most have a few.
_ROUNDINGS = 4096.0
_LEAST_DOUBLE = 1e-9


def coarsest(flow: Flow) -> float:
    """Return the unit roundoff of the coarsest precision that anything but a parameter or an input was computed in."""
    units = [
        unit_of(value.array)
        for index, value in enumerate(flow.trace.values)
        if value.array.dtype.kind == "f" and value.array.size > 1 and _is_computed(flow, index)
    ]
    return max(units, default=DOUBLE)


def _is_computed(flow: Flow, index: int) -> bool:
    origin = flow.trace.values[index].origin
    if origin == "step":
        # What was only moved has the precision of what it was made of.
        step = flow.making(index)
        return step is not None and (step.kind.value not in ("rearrangement", "lookup"))
    return origin in ("buffer", "constant")


def loose(unit: float) -> float:
    """Return by how much results may differ, as a part of the largest entry, that were computed in a precision."""
    return max(_ROUNDINGS * unit, _LEAST_DOUBLE)
