"""Inputs of an ONNX graph: those that are handed over, and guesses for the others from what the graph says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from veriformer.adapters.capture.inputs import Sizes, filled_by_name, sizes_for
from veriformer.adapters.capture.weights import Array
from veriformer.adapters.errors import LoadError

# An index of the input goes through these before it reaches the table.
_PASSED_ON = frozenset({"Identity", "Cast", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose"})


def fed(
    graph: onnx.GraphProto, shapes: Mapping[str, Sequence[int]], inputs: tuple[Any, ...], keywords: Mapping[str, Any]
) -> dict[str, Array]:
    """Return an array for each input of a graph; `shapes` are those of the initialisers.

    LoadError where more is handed over than the graph takes, or what it does not take.
    """
    # Files of early versions list the initialisers among the inputs too.
    puts = {put.name: put.type.tensor_type for put in graph.input if put.name not in shapes}
    given = {**dict(zip(puts, inputs, strict=False)), **keywords}
    if len(inputs) > len(puts) or set(given) - set(puts):
        extra = sorted(set(given) - set(puts)) or f"{len(inputs)} arrays"
        raise LoadError(f"the graph has the inputs {', '.join(puts) or 'none'}; it was handed {extra}")
    generator = np.random.default_rng(0)
    sizes = sizes_for({name: tuple(shape) for name, shape in shapes.items()})
    return {
        name: _cast(given[name], kind.elem_type)
        if name in given
        else _guessed(name, kind, _rows(graph, shapes, name), sizes, generator)
        for name, kind in puts.items()
    }


def _cast(array: Any, elem_type: int) -> Array:
    return np.asarray(array).astype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))


def _guessed(name: str, kind: Any, rows: int, sizes: Sizes, generator: np.random.Generator) -> Array:
    shape = [_size(dimension, place, name, sizes) for place, dimension in enumerate(kind.shape.dim)]
    return filled_by_name(name, tuple(shape), onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type), rows, generator)


def _size(dimension: Any, place: int, name: str, sizes: Sizes) -> int:
    if dimension.dim_value:
        return int(dimension.dim_value)
    symbol = dimension.dim_param.lower()
    if "batch" in symbol or (place == 0 and "len" not in symbol and "seq" not in symbol):
        return sizes.batch
    if "past" in symbol and "+" not in symbol:
        # A cache with nothing in it.
        return 0
    is_target = any(word in symbol + name for word in ("decoder", "target", "tgt"))
    return sizes.other_length if is_target else sizes.length


def _rows(graph: onnx.GraphProto, shapes: Mapping[str, Sequence[int]], name: str) -> int:
    """Return how many rows the tables have that an input is looked up in: the smallest number, two without any."""
    passed = {name}
    found = []
    for node in graph.node:
        if node.op_type in _PASSED_ON and passed & set(node.input[:1]):
            passed.update(node.output)
        elif node.op_type == "Gather" and len(node.input) > 1 and node.input[1] in passed:
            found += [shapes[node.input[0]][0]] if shapes.get(node.input[0]) else []
    return min(found, default=2)
