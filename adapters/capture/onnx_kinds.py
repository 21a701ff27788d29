"""What sort of operation a node of ONNX is, which module of the exported model it belongs to, and its line of code."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from veriformer.adapters.capture.numbers import in_double
from veriformer.adapters.capture.recorder import NOTHING
from veriformer.adapters.capture.trace import Kind
from veriformer.adapters.capture.weights import Array, is_floating

_CONTRACTIONS = frozenset({"MatMul", "Gemm", "Einsum", "Conv", "FusedMatMul", "MatMulInteger", "ConvTranspose"})
# The first three operands of these are query, key and value.
_ATTENTIONS = frozenset({("", "Attention"), ("com.microsoft", "MultiHeadAttention")})
_REARRANGEMENTS = frozenset(
    {
        *("Reshape", "Transpose", "Slice", "Concat", "Split", "Squeeze", "Unsqueeze", "Expand", "Identity", "Tile"),
        *("Flatten", "Pad", "DepthToSpace", "SpaceToDepth", "ReverseSequence", "GatherElements", "GatherND"),
        *("ScatterElements", "ScatterND", "Trilu", "CastLike", "SplitToSequence", "ConcatFromSequence"),
    }
)

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
# The exporter of torch.jit writes the modules into the names: "/h.0/attn/MatMul".
_SCOPED = re.compile(r"^/(.+)/[^/]+$")


def kind_of(node: onnx.NodeProto, operands: Sequence[Array], results: Sequence[Array], from_table: bool) -> Kind:
    """Return the kind of a node; `from_table` says that its first operand is an initialiser, at most rearranged."""
    name = node.op_type
    if (node.domain.replace("ai.onnx", ""), name) in _ATTENTIONS:
        return Kind.ATTENTION
    if name in _CONTRACTIONS:
        return Kind.CONTRACTION
    if name == "Add":
        return Kind.ADDITION
    if name == "Gather":
        rows = from_table and attributes(node).get("axis", 0) == 0 and operands[0].ndim >= 2 and operands[1].ndim >= 1
        return Kind.LOOKUP if rows else Kind.REARRANGEMENT
    if name == "Cast":
        return Kind.REARRANGEMENT if _sort(operands[0]) == _sort(results[0]) else Kind.OTHER
    if name == "Dropout":
        return Kind.OTHER if len(operands) > 2 and bool(operands[2]) else Kind.REARRANGEMENT
    return Kind.REARRANGEMENT if name in _REARRANGEMENTS and not _computes(node) else Kind.OTHER


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """Return the attributes of a node that are numbers, text, or lists of them."""
    plain = {}
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        if isinstance(value, int | float | str | list) and not attribute.graphs and not attribute.tensors:
            plain[attribute.name] = value
    return plain


def attributes_of(node: onnx.NodeProto, kind: Kind, operands: Sequence[Array]) -> Mapping[str, Any]:
    """Return what `trace.Step` describes: the axes of a product, causality and scale of a fused attention."""
    if kind is Kind.ATTENTION:
        given = attributes(node)
        causal = bool(given.get("is_causal", given.get("unidirectional", 0)))
        return MappingProxyType({**given, "is_causal": causal, "scale": given.get("scale")})
    if node.op_type == "Gemm":
        given = attributes(node)
        axes = ((0 if given.get("transA") else 1,), (1 if given.get("transB") else 0,))
        return MappingProxyType({"factors": (0, 1), "contracted": axes, "parallel": ((), ())})
    if node.op_type == "MatMul":
        return _axes_of_matmul(*operands[:2])
    return NOTHING


def is_rough(node: onnx.NodeProto) -> bool:
    """Return whether a node has numbers inside that are in single precision whatever its operands are."""
    # The number that is added to a variance is too small for its digits to matter.
    given = (one for one in node.attribute if one.type == onnx.AttributeProto.FLOAT and one.name != "epsilon")
    numbers = np.array([attribute.f for attribute in given], dtype=np.float64)
    # The operations that onnxruntime adds are written for single precision.
    return node.domain not in ("", "ai.onnx") or not in_double(numbers)[1]


def module_of(node: onnx.NodeProto) -> tuple[tuple[str, str], ...]:
    """Return the modules around a node, outermost first, each with its class; the innermost is the node's own."""
    metadata = {entry.key: entry.value for entry in node.metadata_props}
    scopes = _listed(metadata.get("pkg.torch.onnx.name_scopes", ""))
    classes = _listed(metadata.get("pkg.torch.onnx.class_hierarchy", ""))
    if scopes:
        # The last one is the operation.
        kinds = [*classes, *[""] * len(scopes)]
        return tuple((scope, kinds[place].rpartition(".")[2]) for place, scope in enumerate(scopes[:-1]))
    found = _SCOPED.match(node.name)
    return ((found[1].replace("/", "."), ""),) if found else ()


def line_of(node: onnx.NodeProto) -> tuple[str, int]:
    """Return the file and line that the exporter noted, innermost outside of installed packages if there is one."""
    metadata = {entry.key: entry.value for entry in node.metadata_props}
    frames = [(file, int(line)) for file, line in _FRAME.findall(metadata.get("pkg.torch.onnx.stack_trace", ""))]
    users = [frame for frame in frames if not {"site-packages", "dist-packages"} & set(PurePath(frame[0]).parts)]
    return (users or frames or [("", 0)])[-1]


def _listed(text: str) -> list[str]:
    try:
        listed = ast.literal_eval(text) if text else []
    except (ValueError, SyntaxError):
        return []
    return [str(entry) for entry in listed] if isinstance(listed, list) else []


def _sort(array: Array) -> str:
    return "f" if is_floating(array.dtype) else array.dtype.kind.replace("u", "i")


def _computes(node: onnx.NodeProto) -> bool:
    """Return whether a scatter adds or multiplies instead of writing."""
    return str(attributes(node).get("reduction", "none")) != "none"


def _axes_of_matmul(first: Array, second: Array) -> Mapping[str, Any]:
    if first.ndim < 2 or second.ndim < 2:
        return NOTHING
    batch = tuple(range(second.ndim - 2))
    if batch and first.shape[:-2] != second.shape[:-2]:
        # Axes that are broadcast have no place in the description.
        return NOTHING
    contracted = ((first.ndim - 1,), (second.ndim - 2,))
    return MappingProxyType({"factors": (0, 1), "contracted": contracted, "parallel": (batch, batch)})


def as_array(tensor: onnx.TensorProto, folder: str = "") -> Array:
    """Return a tensor of a file as an array; `folder` has the files beside it that large tensors lie in."""
    return np.asarray(onnx.numpy_helper.to_array(tensor, base_dir=folder))


def constant_of(node: onnx.NodeProto) -> Array:
    """Return the array of a Constant node."""
    (attribute,) = node.attribute
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return as_array(value)
    # Numbers of a file are in single precision.
    return np.asarray(value, dtype=np.float32 if "float" in attribute.name else None)
