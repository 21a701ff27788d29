"""How exactly a model was computed as a whole, by the coarsest of its steps."""

from __future__ import annotations

from veriformer.conformance_tests.recognition.agreement import BFLOAT, DOUBLE, HALF, SINGLE, unit_of
from veriformer.conformance_tests.recognition.flow import Flow

# A model rounds what it carries on from layer to layer; its errors add up as those of independent steps do.
_ROUNDINGS = 4096.0
OF_FEW = 512.0 * SINGLE
"""Where few steps of a model in float64 are computed in float32, such as tables of sines and norms, or few weights are
stored so, its results may be off by this part of the largest entry."""
_LEAST = 1e-9
_UNITS = {"float32": SINGLE, "float16": HALF, "bfloat16": BFLOAT}


def rounding_of(flow: Flow) -> float:
    """Return by how much the results of a model may be off, as a part of the largest entry."""
    whole = rounding_in(flow.trace.dtype)
    return max(OF_FEW, whole) if _has_single(flow) else whole


def rounding_in(dtype: str) -> float:
    """Return by how much the results of a model that computes in a precision may be off."""
    return max(_ROUNDINGS * _UNITS.get(dtype, DOUBLE), _LEAST)


def _has_single(flow: Flow) -> bool:
    """Return whether anything but a parameter or an input was computed in float32."""
    return any(
        value.array.dtype.kind == "f"
        and value.array.size > 1
        and _is_computed(flow, index)
        # Few numbers, such as powers of two, are those of a half precision by chance.
        and unit_of(value.array) == SINGLE
        for index, value in enumerate(flow.trace.values)
    )


def _is_computed(flow: Flow, index: int) -> bool:
    origin = flow.trace.values[index].origin
    if origin == "step":
        # What was only moved has the precision of what it was made of.
        step = flow.making(index)
        return step is not None and (step.kind.value not in ("rearrangement", "lookup"))
    return origin in ("buffer", "constant")
