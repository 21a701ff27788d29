"""A trace in the making: values and steps are added one by one, as plain NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from veriformer.adapters.capture.trace import Kind, Origin, Step, Trace, Value
from veriformer.adapters.capture.weights import Array, is_floating

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Recorder:
    """Collects what one forward pass uses and does; an index, once given, stays."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.steps: list[Step] = []
        self.opaque: dict[str, str] = {}
        self._coarsest = np.dtype(np.float64)

    def add(self, array: Array, origin: Origin, name: str = "", aliases: tuple[str, ...] = ()) -> int:
        """Add a value and return its index."""
        self.values.append(Value(as_value(array), origin, name, aliases))
        return len(self.values) - 1

    def step(
        self,
        operation: str,
        kind: Kind,
        operands: Sequence[int],
        results: Sequence[Array],
        *,
        module: str = "",
        file: str = "",
        line: int = 0,
        attributes: Mapping[str, Any] = NOTHING,
    ) -> tuple[int, ...]:
        """Add a step with the values that it made and return their indices."""
        made = tuple(self.add(result, "step") for result in results)
        self.steps.append(
            Step(operation, kind, tuple(operands), made, module, file, line, MappingProxyType(dict(attributes)))
        )
        return made

    def computes_in(self, dtype: np.dtype[Any]) -> None:
        """Take note of a dtype that something was computed in; the coarsest is the precision of the pass."""
        if is_floating(dtype) and dtype.itemsize < self._coarsest.itemsize:
            self._coarsest = dtype

    def trace(
        self, framework: str, inputs: Sequence[int], outputs: Sequence[int], modules: Mapping[str, str] = NOTHING
    ) -> Trace:
        """Return everything that was recorded."""
        return Trace(
            framework=framework,
            dtype=self._coarsest.name,
            values=tuple(self.values),
            steps=tuple(self.steps),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            modules=MappingProxyType(dict(modules)),
            opaque=MappingProxyType(dict(self.opaque)),
        )


def as_value(array: Array) -> Array:
    """Return an array as a trace has it: float64, int64 or bool; complex numbers as pairs on a further last axis."""
    array = np.asarray(array)
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1).astype(np.float64, copy=False)
    return array.astype(np.float64 if is_floating(array.dtype) else np.int64, copy=False)
