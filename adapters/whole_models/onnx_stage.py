"""An ONNX model on its stage: its graph, run node by node, for many passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature
from typing import Any

from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.onnx import capture
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.numpy_arrays import NumPyArrays
from veriformer.adapters.whole_models.stage import Stage


@contextmanager
def onnx_stage(model: Any, arguments: Arguments) -> Iterator[Stage]:
    """Put a graph on its stage, with its own weights; its inputs are keywords."""
    yield OnnxStage(model, capture(model, *arguments))


class _Inputs:
    """What has the signature of a graph: its inputs by name."""

    def __init__(self, names: Sequence[str]) -> None:
        legal = [name for name in names if name.isidentifier()]
        self.__signature__ = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in legal])

    def __call__(self) -> None:
        """Do nothing: there is a signature, and no function."""


class OnnxStage(Stage):
    """A graph, in float64 where every node can be. It is not differentiated, so that nothing counts as learned."""

    def __init__(self, model: Any, trace: Trace) -> None:
        self.framework = NumPyArrays()
        self.model = model
        self.called = _Inputs([trace.values[index].name for index in trace.inputs])
        self.dtype = trace.dtype if trace.dtype in self.framework.dtypes else "float32"
        values = [value for value in trace.values if value.name]
        self.shapes = {one.name: tuple(one.array.shape) for one in values if one.origin == "parameter"}
        self.buffers = {one.name: tuple(one.array.shape) for one in values if one.origin == "buffer"}
        self.size = sum(value.array.size for value in values if value.origin == "parameter")

    def cast(self, arguments: Arguments) -> Arguments:
        """Return the arguments as they are: they are cast as the graph says."""
        return arguments

    def call(self, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Return the outputs of the graph by place."""
        trace = capture(self.model, positional, keywords)
        return tuple(trace.values[index].array for index in trace.outputs)
