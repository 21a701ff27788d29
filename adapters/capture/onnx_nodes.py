"""Nodes of ONNX, run one at a time: by onnxruntime, or by the reference evaluator of ONNX where it has no kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from veriformer.adapters.capture.onnx_kinds import as_array
from veriformer.adapters.capture.weights import Array, is_floating

_FLOATING = {
    onnx.TensorProto.FLOAT16: 2,
    onnx.TensorProto.BFLOAT16: 2,
    onnx.TensorProto.FLOAT: 4,
}
# Attributes that name the dtype of what a node makes.
_DTYPES = frozenset({"to", "dtype", "output_dtype", "output_datatype"})


# Their numbers inside are in single precision in onnxruntime, or in the nodes that define them.
_IMPRECISE = frozenset({"Erf", "Gelu", "Attention"})
_erf = np.vectorize(math.erf, otypes=[np.float64])


class Nodes:
    """Runs single nodes of a model and keeps a session for each sort of node.

    `own` is the size in bytes of the model's floating-point numbers if the pass is to be in float64: dtypes of at
    least this size become float64. Without it, every node runs as it is.
    """

    def __init__(self, model: onnx.ModelProto, own: int | None) -> None:
        self._opsets = list(model.opset_import)
        self._version = model.ir_version
        self._own = own
        self._sessions: dict[bytes, Any] = {}

    def widened(self, array: Array) -> Array:
        """Return an array in the dtype that it has in the pass."""
        if self._own is None or not is_floating(array.dtype) or not self._own <= array.dtype.itemsize < 8:
            return array
        return array.astype(np.float64)

    def run(self, node: onnx.NodeProto, operands: Mapping[str, Array]) -> list[Array]:
        """Return what a node makes of its operands, those of its inner graphs among them, by name."""
        local = self._local(node)
        model = self._model(local, operands)
        key = model.SerializeToString(deterministic=True)
        if key not in self._sessions:
            by_reference = self._own is not None and node.op_type in _IMPRECISE
            self._sessions[key] = _reference(model) if by_reference else _session(model)
        # A session is shared by nodes that differ in the names of their operands only.
        names = [given.name for given in model.graph.input]
        fed = dict(zip(names, operands.values(), strict=True))
        try:
            made = self._sessions[key].run(None, fed)
        except Exception:
            if isinstance(self._sessions[key], ReferenceEvaluator):
                raise
            # Some kernels find out at work that they do not do float64.
            self._sessions[key] = _reference(model)
            made = self._sessions[key].run(None, fed)
        return [np.asarray(array) for array in made]

    def _local(self, node: onnx.NodeProto) -> onnx.NodeProto:
        local = onnx.NodeProto()
        local.CopyFrom(node)
        local.name = ""
        local.doc_string = ""
        del local.metadata_props[:]
        if self._own is not None:
            for attribute in local.attribute:
                self._widen(attribute)
        return local

    def _model(self, node: onnx.NodeProto, operands: Mapping[str, Array]) -> onnx.ModelProto:
        if not any(attribute.g.node for attribute in node.attribute):
            short = {name: f"i{place}" for place, name in enumerate(operands)}
            inputs = [short[name] if name else "" for name in node.input]
            outputs = [f"o{place}" if name else "" for place, name in enumerate(node.output)]
            del node.input[:], node.output[:]
            node.input.extend(inputs)
            node.output.extend(outputs)
        else:
            short = {name: name for name in operands}
        given = [
            onnx.helper.make_tensor_value_info(
                short[name], onnx.helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim
            )
            for name, array in operands.items()
        ]
        made = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", given, made)
        return onnx.helper.make_model(graph, opset_imports=self._opsets, ir_version=self._version)

    def _widen(self, attribute: onnx.AttributeProto) -> None:
        if attribute.name in _DTYPES and attribute.type == onnx.AttributeProto.INT and self._includes(attribute.i):
            attribute.i = onnx.TensorProto.DOUBLE
        elif attribute.type == onnx.AttributeProto.TENSOR and self._includes(attribute.t.data_type):
            attribute.t.CopyFrom(onnx.numpy_helper.from_array(as_array(attribute.t).astype(np.float64)))
        elif attribute.type == onnx.AttributeProto.GRAPH:
            self._widen_graph(attribute.g)

    def _widen_graph(self, graph: onnx.GraphProto) -> None:
        del graph.value_info[:]
        for place, tensor in enumerate(graph.initializer):
            if self._includes(tensor.data_type):
                wide = onnx.numpy_helper.from_array(as_array(tensor).astype(np.float64), tensor.name)
                graph.initializer[place].CopyFrom(wide)
        for value in (*graph.input, *graph.output):
            if self._includes(value.type.tensor_type.elem_type):
                value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
        for node in graph.node:
            for attribute in node.attribute:
                self._widen(attribute)

    def _includes(self, elem_type: int) -> bool:
        return self._own is not None and _FLOATING.get(elem_type, 0) >= self._own


def outer_names(node: onnx.NodeProto) -> list[str]:
    """Return the names of all that a node reads, once each: its operands, then what its inner graphs read outside."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        names += _free_names(attribute.g)
    return list(dict.fromkeys(names))


def _free_names(graph: onnx.GraphProto) -> Iterator[str]:
    own = {value.name for value in (*graph.input, *graph.initializer)}
    own |= {name for node in graph.node for name in node.output}
    for node in graph.node:
        yield from (name for name in outer_names(node) if name not in own)
    yield from (value.name for value in graph.output if value.name not in own)


def _session(model: onnx.ModelProto) -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Every session has threads of its own.
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:
        # onnxruntime has no kernel for some operations in float64, such as Erf.
        return _reference(model)


def _reference(model: onnx.ModelProto) -> Any:
    return ReferenceEvaluator(model, new_ops=[Erf, Gelu])


class Erf(OpRun):  # type: ignore[misc]
    """The error function; that of the reference evaluator is in single precision."""

    def _run(self, x: Array) -> tuple[Array]:
        return (_erf(x).astype(x.dtype),)


class Gelu(OpRun):  # type: ignore[misc]
    """x · Φ(x), or its approximation by tanh; the definition that ONNX has in nodes is in single precision."""

    op_domain = ""

    def _run(self, x: Array, approximate: str | None = None) -> tuple[Array]:
        if approximate == "tanh":
            inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
            return ((0.5 * x * (1 + np.tanh(inner))).astype(x.dtype),)
        return ((0.5 * x * (1 + _erf(x / np.sqrt(2)))).astype(x.dtype),)


def split_sequence(array: Array, sizes: Array | None, axis: int, keep: bool) -> Sequence[Array]:
    """Return the parts that SplitToSequence makes."""
    if sizes is None:
        parts = np.split(array, array.shape[axis], axis)
        return parts if keep else [part.squeeze(axis) for part in parts]
    if sizes.ndim == 0:
        return np.split(array, range(int(sizes), array.shape[axis], int(sizes)), axis)
    return np.split(array, np.cumsum(sizes)[:-1], axis)
