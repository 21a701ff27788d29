"""A forward pass of an ONNX model: every node of its graph, run one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from veriformer.adapters.capture.numbers import in_double
from veriformer.adapters.capture.onnx_inputs import fed
from veriformer.adapters.capture.onnx_kinds import (
    as_array,
    attributes,
    attributes_of,
    constant_of,
    is_rough,
    kind_of,
    line_of,
    module_of,
)
from veriformer.adapters.capture.onnx_nodes import Nodes, outer_names, split_sequence
from veriformer.adapters.capture.recorder import NOTHING, Recorder
from veriformer.adapters.capture.trace import Kind, Origin, Trace
from veriformer.adapters.capture.weights import Array, generator_of, is_floating, is_formula, perturbed
from veriformer.adapters.errors import LoadError, describe

# The values of a name: a tensor, or the tensors of a sequence.
Known = int | list[int]


def capture(
    model: Any,
    inputs: tuple[Any, ...] = (),
    keywords: Mapping[str, Any] = NOTHING,
    *,
    seed: int | None = None,
) -> Trace:
    """Return the record of one run of a model: a path, the bytes of a file, or what `onnx.load` returns.

    The run is in float64 where every node can be, otherwise as the file says. Inputs that are not handed over, in the
    order of the graph or by name, are guessed. With a `seed` every floating-point initialiser is replaced by a drawn
    one, but for numbers, masks and other formulas. The file, or the object, is left as it was.
    Raises: LoadError where `model` is no model or the inputs are not its own; what the nodes raise.
    """
    proto, folder = _loaded(model)
    arrays = {tensor.name: as_array(tensor, folder) for tensor in proto.graph.initializer}
    # Some exporters write weights as nodes without operands.
    arrays.update((node.output[0], constant_of(node)) for node in proto.graph.node if node.op_type == "Constant")
    origins = {name: _origin(array) for name, array in arrays.items()}
    given = fed(proto.graph, {name: array.shape for name, array in arrays.items()}, inputs, keywords)
    if seed is not None:
        arrays.update(_drawn({name: array for name, array in arrays.items() if origins[name] == "parameter"}, seed))
    floating = [array.dtype.itemsize for array in arrays.values() if is_floating(array.dtype) and array.size > 1]
    try:
        return _Run(proto, Nodes(proto, min(floating, default=4)), origins).trace(arrays, given)
    except Exception:
        # There are nodes that neither onnxruntime nor the reference evaluator runs in float64.
        return _Run(proto, Nodes(proto, None), origins).trace(arrays, given)


def _loaded(model: Any) -> tuple[onnx.ModelProto, str]:
    folder = ""
    # The exporter of torch returns a program that has the model.
    model = getattr(model, "model_proto", model)
    try:
        if isinstance(model, str | Path):
            folder = str(Path(model).resolve().parent)
            # The weights beside the file are read one by one later.
            model = onnx.load(str(model), load_external_data=False)
        elif isinstance(model, bytes):
            model = onnx.load_from_string(model)
    except Exception as error:
        raise LoadError(
            f"{model if isinstance(model, str | Path) else 'the model'} is no ONNX file: {describe(error)}"
        ) from error
    if not isinstance(model, onnx.ModelProto):
        raise LoadError(f"a {type(model).__name__} is no ONNX model; hand over a path, bytes, or an onnx.ModelProto")
    return (onnx.inliner.inline_local_functions(model) if model.functions else model), folder


def _origin(array: Array) -> Origin:
    """Return what an initialiser is, of which the file says nothing: numbers and sizes are constants."""
    if array.size <= 1 or not (is_floating(array.dtype) or array.dtype.kind == "b"):
        return "constant"
    return "buffer" if array.dtype.kind == "b" or is_formula(array) else "parameter"


def _drawn(parameters: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Return drawn parameters; a matrix that an exporter wrote a second time, transposed, stays the transpose."""
    drawn: dict[str, Array] = {}
    seen: dict[bytes, str] = {}
    for index, (name, array) in enumerate(parameters.items()):
        turned = seen.get(_fingerprint(array.T)) if array.ndim == 2 else None
        if turned is not None:
            drawn[name] = np.ascontiguousarray(drawn[turned].T)
            continue
        seen[_fingerprint(array)] = name
        drawn[name] = perturbed(array, generator_of(seed, index))
    return drawn


def _fingerprint(array: Array) -> bytes:
    return blake2b(np.ascontiguousarray(array).view(np.uint8).data, key=str(array.shape).encode()[:64]).digest()


class _Run:
    """One run of a graph."""

    def __init__(self, model: onnx.ModelProto, nodes: Nodes, origins: Mapping[str, Origin]) -> None:
        self._graph = model.graph
        self._nodes = nodes
        self._origins = origins
        self._recorder = Recorder()
        self._arrays: dict[int, Array] = {}
        self._known: dict[str, Known] = {}
        self._tables: set[int] = set()
        self._modules: dict[str, str] = {}

    def trace(self, arrays: Mapping[str, Array], given: Mapping[str, Array]) -> Trace:
        """Return the record of a run with these initialisers and inputs."""
        for name, array in arrays.items():
            self._known[name] = self._initialiser(name, array)
        taken = [self._enter(array, "input", name) for name, array in given.items()]
        self._known.update(zip(given, taken, strict=True))
        self._run(self._graph)
        outputs = [self._known[value.name] for value in self._graph.output]
        return self._recorder.trace("onnx", taken, _flat(outputs), self._modules)

    def _initialiser(self, name: str, array: Array) -> int:
        origin = self._origins.get(name, "constant")
        index = self._enter(array, origin, "" if origin == "constant" else name)
        self._tables.add(index)
        return index

    def _enter(self, array: Array, origin: Origin, name: str = "") -> int:
        wide = self._nodes.widened(array)
        if wide is not array and origin in ("constant", "buffer"):
            wide, is_exact = in_double(array)
            if not is_exact:
                self._recorder.computes_in(array.dtype)
        index = self._recorder.add(wide, origin, name)
        self._arrays[index] = wide
        return index

    def _run(self, graph: onnx.GraphProto) -> None:
        for node in graph.node:
            if node.op_type == "Constant":
                if graph is not self._graph:
                    self._known[node.output[0]] = self._initialiser(node.output[0], constant_of(node))
            elif node.op_type == "If":
                self._branch(node)
            elif "Sequence" in node.op_type:
                self._sequence(node)
            else:
                self._node(node)

    def _node(self, node: onnx.NodeProto) -> None:
        names = outer_names(node)
        operands = {name: self._index(name) for name in names}
        made = self._nodes.run(node, {name: self._arrays[index] for name, index in operands.items()})
        # An operand that is left out has an empty name, and so has a result.
        places = [operands[name] for name in node.input if name]
        inner = [operands[name] for name in names if name not in node.input]
        if inner:
            self._recorder.opaque[self._module(node)] = f"{node.op_type} runs a graph of its own, several times"
        self._step(node, [*places, *inner], made, [name for name in node.output if name])

    def _step(self, node: onnx.NodeProto, operands: list[int], made: Sequence[Array], names: Sequence[str]) -> None:
        arrays = [self._arrays[index] for index in operands]
        kind = kind_of(node, arrays, made, bool(operands) and operands[0] in self._tables)
        if kind in (Kind.CONTRACTION, Kind.ADDITION, Kind.ATTENTION, Kind.OTHER) and node.op_type != "Where":
            for array in made:
                self._recorder.computes_in(np.dtype(np.float32) if is_rough(node) else array.dtype)
        file, line = line_of(node)
        indices = self._recorder.step(
            node.op_type,
            kind,
            operands,
            made,
            module=self._module(node),
            file=file,
            line=line,
            attributes=attributes_of(node, kind, arrays),
        )
        self._arrays.update(zip(indices, made, strict=True))
        self._known.update(zip(names, indices, strict=True))
        if kind is Kind.REARRANGEMENT and operands[0] in self._tables:
            self._tables.update(indices)

    def _branch(self, node: onnx.NodeProto) -> None:
        chosen = "then_branch" if bool(self._arrays[self._index(node.input[0])]) else "else_branch"
        (graph,) = (attribute.g for attribute in node.attribute if attribute.name == chosen)
        for tensor in graph.initializer:
            self._known[tensor.name] = self._initialiser(tensor.name, as_array(tensor))
        self._run(graph)
        for name, value in zip(node.output, graph.output, strict=True):
            self._known[name] = self._known[value.name]

    def _sequence(self, node: onnx.NodeProto) -> None:
        """Follow the tensors of a sequence; only splitting and joining makes new ones."""
        given = attributes(node)
        axis = int(given.get("axis", 0))
        if node.op_type == "SplitToSequence":
            operands = [self._index(name) for name in node.input if name]
            sizes = self._arrays[operands[1]] if len(operands) > 1 else None
            parts = split_sequence(self._arrays[operands[0]], sizes, axis, bool(given.get("keepdims", 1)))
            names = [f"{node.output[0]}.{place}" for place in range(len(parts))]
            self._step(node, operands, parts, names)
            self._known[node.output[0]] = [self._index(name) for name in names]
        elif node.op_type == "ConcatFromSequence":
            operands = self._listed(node.input[0])
            join = np.stack if given.get("new_axis", 0) else np.concatenate
            self._step(node, operands, [join([self._arrays[one] for one in operands], axis)], node.output)
        elif node.op_type == "SequenceConstruct":
            self._known[node.output[0]] = [self._index(name) for name in node.input]
        elif node.op_type == "SequenceAt":
            place = int(self._arrays[self._index(node.input[1])])
            self._known[node.output[0]] = self._listed(node.input[0])[place]
        else:
            raise LoadError(f"{node.op_type} cannot be recorded; export the model without sequences of tensors")

    def _module(self, node: onnx.NodeProto) -> str:
        modules = module_of(node)
        self._modules.update((path, kind) for path, kind in modules if kind)
        return modules[-1][0] if modules else ""

    def _index(self, name: str) -> int:
        known = self._known[name]
        if isinstance(known, list):
            raise LoadError(f"{name} is a sequence of tensors; export the model without them")
        return known

    def _listed(self, name: str) -> list[int]:
        known = self._known[name]
        return known if isinstance(known, list) else [known]


def _flat(known: Sequence[Known]) -> list[int]:
    return [index for one in known for index in (one if isinstance(one, list) else [one])]
