"""A model of NumPy on its stage: a copy of it on drawn arrays in float64, for many passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from veriformer.adapters.capture.handed_over import Arguments, is_array
from veriformer.adapters.capture.numpy import drawn_arrays
from veriformer.adapters.capture.numpy_models import Program, program_of
from veriformer.adapters.capture.weights import is_floating
from veriformer.adapters.numpy_arrays import NumPyArrays
from veriformer.adapters.whole_models.stage import Stage


@contextmanager
def numpy_stage(model: Any, seed: int | None) -> Iterator[Stage]:
    """Put a copy of a model on its stage; the model itself is never called."""
    yield NumPyStage(program_of(model), seed)


class NumPyStage(Stage):
    """A program of NumPy with arrays of its own. NumPy does not differentiate, so that nothing counts as learned."""

    dtype = "float64"

    def __init__(self, program: Program, seed: int | None) -> None:
        self.framework = NumPyArrays()
        self.model = program
        self.called = program.called
        self.first_input = program.first_input
        arrays = drawn_arrays(program, seed)
        self._parameters = [arrays[id(one.array)] for one in program.held if one.origin == "parameter"]
        self.shapes = {one.names[0]: tuple(one.array.shape) for one in program.held if one.origin == "parameter"}
        self.buffers = {one.names[0]: tuple(one.array.shape) for one in program.held if one.origin != "parameter"}
        self.size = sum(int(array.size) for array in self._parameters)
        program.hold(arrays)

    def cast(self, arguments: Arguments) -> Arguments:
        """Return arguments with floating-point arrays in float64."""

        def cast(tree: Any) -> Any:
            if isinstance(tree, Mapping):
                return {name: cast(value) for name, value in tree.items()}
            if isinstance(tree, list | tuple):
                return type(tree)(cast(value) for value in tree)
            return tree.astype(np.float64) if is_array(tree) and is_floating(np.asarray(tree).dtype) else tree

        return tuple(cast(one) for one in arguments[0]), {name: cast(one) for name, one in arguments[1].items()}

    def call(self, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Return whatever the model returns."""
        with np.errstate(all="ignore"):
            return self.model.run(positional, keywords)
