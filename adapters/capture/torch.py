"""A forward pass of a torch.nn.Module, recorded below autograd: every tensor, its module, and the user's line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType, MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from veriformer.adapters.capture.torch_models import in_float64, recordable
from veriformer.adapters.capture.torch_names import named_buffers, named_parameters
from veriformer.adapters.capture.torch_state import has_memory, in_evaluation_mode, on_copies
from veriformer.adapters.capture.torch_widening import widened
from veriformer.adapters.capture.trace import Kind, Origin, Step, Trace, Value
from veriformer.adapters.outputs import arrays_of

_CONTRACTIONS = frozenset(
    {"mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "convolution", "dot", "mv", "addmv", "addbmm", "einsum"}
)
_LOOKUPS = frozenset({"embedding"})
_ADDITIONS = frozenset({"add", "add_"})
_REARRANGEMENTS = frozenset(
    {
        *("view", "_unsafe_view", "reshape", "t", "transpose", "permute", "expand", "squeeze", "unsqueeze", "slice"),
        *("select", "split", "split_with_sizes", "chunk", "unbind", "cat", "stack", "clone", "copy_", "_to_copy"),
        *("repeat", "repeat_interleave", "as_strided", "flip", "roll", "alias", "detach", "unfold", "contiguous"),
        *("view_as_real", "view_as_complex", "index_select", "lift_fresh", "_reshape_alias", "constant_pad_nd"),
        *("movedim", "narrow", "diagonal", "index_copy", "tril", "triu"),
    }
)
# Contractions whose last two operands are multiplied as matrices, the axes before the last two in parallel.
_PRODUCTS = frozenset({"mm", "bmm", "addmm", "baddbmm"})
# Operations on floating-point tensors whose first three operands are query, key and value.
_ATTENTIONS = frozenset(
    {
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_fused_attention_overrideable",
        "scaled_dot_product_attention",
    }
)
# The arguments of a fused attention after query, key and value, where they are given by position.
_ATTENTION_ARGUMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "_scaled_dot_product_flash_attention_for_cpu": ("dropout_p", "is_causal"),
        "_scaled_dot_product_flash_attention": ("dropout_p", "is_causal"),
        "_scaled_dot_product_efficient_attention": ("attn_mask", "compute_log_sumexp", "dropout_p", "is_causal"),
        "_scaled_dot_product_fused_attention_overrideable": ("attn_mask", "dropout_p", "is_causal"),
        "scaled_dot_product_attention": ("attn_mask", "dropout_p", "is_causal"),
    }
)
# Operations that return memory as it is.
_MEMORY_ONLY = frozenset({"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"})
# A frame in one of these packages is the framework's, not the user's.
_FRAMEWORK = ("torch", "veriformer")


def capture(
    model: nn.Module,
    inputs: tuple[Any, ...],
    keywords: Mapping[str, Any] | None = None,
    *,
    seed: int | None = None,
) -> Trace:
    """Return the record of `model(*inputs, **keywords)` in evaluation mode, in float64 where the model can run in it.

    With a `seed` every floating parameter is replaced by a drawn one for the pass, so that gains are not all one, nor
    biases zero. The model is left as it was: parameters, buffers, dtype, training mode, hooks and gradients.
    Raises: whatever the model raises in its own precision.
    """
    with in_evaluation_mode(model):
        try:
            with on_copies(model, seed, torch.float64), widened():
                return _recorded(model, in_float64(inputs), in_float64(dict(keywords or {})))
        except Exception:
            # Some models make tensors of their own in float32, or ask for it; they are read in their own precision.
            with on_copies(model, seed, None):
                return _recorded(model, inputs, dict(keywords or {}))


def _recorded(model: nn.Module, inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Trace:
    recorder = _Recorder(model)
    for position, leaf in enumerate(tree_leaves((inputs, keywords))):
        if isinstance(leaf, torch.Tensor):
            recorder.index_of(leaf, "input", str(position))
    with recordable(), _module_paths(model, recorder.path), recorder:
        outputs = model(*inputs, **keywords)
    return recorder.trace(inputs, keywords, outputs)


@contextmanager
def _module_paths(model: nn.Module, path: list[str]) -> Iterator[None]:
    """Keep the path of the module that is running in `path`."""
    with ExitStack() as hooks:
        for name, module in model.named_modules():
            if isinstance(module, torch.jit.ScriptModule):
                # It takes no hooks; what it computes belongs to the module around it.
                continue

            def enter(_module: nn.Module, _inputs: Any, name: str = name) -> None:
                path.append(name)

            def leave(_module: nn.Module, _inputs: Any, _output: Any) -> None:
                path.pop()

            hooks.callback(module.register_forward_pre_hook(enter).remove)
            hooks.callback(module.register_forward_hook(leave, always_call=True).remove)
        yield


class _Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Records every operation that reaches PyTorch's kernels."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.path: list[str] = []
        self.values: list[Value] = []
        self.steps: list[Step] = []
        self.modules = {name: type(module).__name__ for name, module in model.named_modules()}
        # A tensor is known by itself and its version; it is kept, so that no other one takes its identity.
        self._known: dict[tuple[int, int], int] = {}
        self._kept: list[torch.Tensor] = []
        self._latest: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._enter_parameters(model)

    def _enter_parameters(self, model: nn.Module) -> None:
        names: dict[int, list[str]] = {}
        found: dict[int, tuple[torch.Tensor, Origin]] = {}
        for name, parameter in named_parameters(model, remove_duplicate=False):
            names.setdefault(id(parameter), []).append(name)
            found[id(parameter)] = (parameter, "parameter")
        for name, buffer in named_buffers(model, remove_duplicate=False):
            names.setdefault(id(buffer), []).append(name)
            found.setdefault(id(buffer), (buffer, "buffer"))
        self._parameter_memory = {_address(tensor) for tensor, kind in found.values() if kind == "parameter"}
        for identity, (tensor, origin) in found.items():
            first, *others = names[identity]
            self.index_of(tensor, origin, first, tuple(others))

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run an operation and record it."""
        keywords = kwargs or {}
        operands = tuple(self.index_of(leaf) for leaf in _tensor_leaves((args, keywords)))
        returned = function(*args, **keywords)
        name = function.overloadpacket.__name__
        if name in _MEMORY_ONLY:
            # It may hold what an earlier pass left there, and what a pass computes must not be known by that.
            returned.zero_()
        written = function._schema.is_mutable and not name.startswith(("empty", "detach"))
        given = {id(leaf) for leaf in _tensor_leaves((args, keywords))} if written else set()
        results = tuple(self._new(leaf, overwritten=id(leaf) in given) for leaf in _tensor_leaves(returned))
        if written:
            for leaf, result in zip(_tensor_leaves(returned), results, strict=True):
                self._written[_address(leaf)] = result
        file, line = _place()
        self.steps.append(
            Step(
                operation=f"aten.{name}",
                kind=_kind(name, args, operands, self.values),
                operands=operands,
                results=results,
                module=self.path[-1] if self.path else "",
                file=file,
                line=line,
                attributes=_attributes(name, args, keywords, operands, self.values),
            )
        )
        return returned

    def index_of(
        self, tensor: torch.Tensor, origin: Origin = "constant", name: str = "", aliases: tuple[str, ...] = ()
    ) -> int:
        """Return the index of a tensor's present content, recorded anew where something was written into it."""
        key = (id(tensor), tensor._version)
        if key in self._known:
            return self._known[key]
        before = self._latest.get(id(tensor))
        present = self._array(tensor)
        last = self._written.get(_address(tensor))
        if before is not None and (last is None or last < before) and _equal(present, self.values[before].array):
            # Some operations raise the version of what they return without writing anything. Content alone does not
            # tell: memory that was given out anew may hold what an earlier pass has written there.
            self._known[key] = before
            return before
        index = self._add(tensor, Value(present, origin if before is None else "step", name, aliases))
        if before is not None or (last is not None and origin == "constant"):
            # Something was written into memory that this tensor shares.
            operands = tuple(one for one in (before, last) if one is not None)
            self.values[index] = Value(self.values[index].array, "step")
            self.steps.append(Step("written through a view", Kind.REARRANGEMENT, operands, (index,)))
        return index

    def _new(self, tensor: torch.Tensor, *, overwritten: bool) -> int:
        key = (id(tensor), tensor._version)
        if overwritten:
            index = self._add(tensor, Value(self._array(tensor), "step"))
            # The version counts an operation in place only after it has returned.
            self._known[id(tensor), tensor._version + 1] = index
            return index
        if key in self._known:
            # The operation returned its argument, unchanged.
            return self._known[key]
        return self._add(tensor, Value(self._array(tensor), "step"))

    def _array(self, tensor: torch.Tensor) -> np.ndarray[Any, np.dtype[Any]]:
        """Return a copy of a tensor; of a parameter and its views the memory itself, which may be most of the model."""
        array = _as_array(tensor)
        if _address(tensor) in self._parameter_memory or not np.may_share_memory(array, _memory(tensor)):
            return array
        return array.copy()

    def _add(self, tensor: torch.Tensor, value: Value) -> int:
        index = len(self.values)
        self.values.append(value)
        self._kept.append(tensor)
        self._known[id(tensor), tensor._version] = index
        self._latest[id(tensor)] = index
        return index

    def trace(self, inputs: Any, keywords: Any, outputs: Any) -> Trace:
        """Return everything that was recorded."""
        floating = [value.array for value in self.values if value.origin == "step" and value.array.dtype.kind == "f"]
        returned = _model_outputs(outputs)
        dtype = next((leaf.dtype for leaf in returned if leaf.is_floating_point()), torch.float64)
        if not floating:
            raise ValueError("the model computed nothing with tensors; hand over a model that returns a tensor")
        # A state that was written into has a new content, which becomes a value of the record here.
        given, returned_values = map(self._indices_of, (_tensor_leaves((inputs, keywords)), returned))
        return Trace(
            framework="torch",
            dtype=str(dtype).removeprefix("torch."),
            values=tuple(self.values),
            steps=tuple(self.steps),
            inputs=given,
            outputs=returned_values,
            modules=MappingProxyType(self.modules),
            opaque=MappingProxyType(_opaque(self.modules)),
        )

    def _indices_of(self, tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
        return tuple(map(self.index_of, tensors))


def _opaque(modules: Mapping[str, str]) -> dict[str, str]:
    compiled = ("RecursiveScriptModule", "TopLevelTracedModule", "ScriptModule")
    return {path: f"it is a {kind}" for path, kind in modules.items() if kind in compiled}


def _model_outputs(outputs: Any) -> list[torch.Tensor]:
    if hasattr(outputs, "to_tuple"):
        outputs = outputs.to_tuple()
    return arrays_of(tree_leaves(outputs), lambda leaf: isinstance(leaf, torch.Tensor))


def _tensor_leaves(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _address(tensor: torch.Tensor) -> int:
    """Return what tells the memory of a tensor from that of others; a sparse one has none that is shared."""
    return int(tensor.untyped_storage()._cdata) if has_memory(tensor) else id(tensor)


def _as_array(tensor: torch.Tensor) -> np.ndarray[Any, np.dtype[Any]]:
    plain = tensor.detach() if has_memory(tensor) else tensor.detach().to_dense()
    if plain.is_complex():
        return np.asarray(torch.view_as_real(plain.resolve_conj()).double().cpu().numpy())
    if plain.dtype == torch.bool:
        return np.asarray(plain.cpu().numpy())
    kind = torch.float64 if plain.is_floating_point() else torch.int64
    return np.asarray(plain.cpu().to(kind).resolve_neg().numpy())


def _equal(first: np.ndarray[Any, np.dtype[Any]], second: np.ndarray[Any, np.dtype[Any]]) -> bool:
    """Return whether two arrays have the same content; the memory of a large table is not compared with itself."""
    itself = first.__array_interface__["data"] == second.__array_interface__["data"]
    if itself and first.shape == second.shape and first.strides == second.strides:
        return True
    return np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


def _memory(tensor: torch.Tensor) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the tensor's own memory as an array; an empty one where NumPy cannot see it."""
    try:
        return np.asarray(tensor.detach().numpy())
    except (RuntimeError, TypeError):
        return np.empty(0)


def _kind(name: str, args: tuple[Any, ...], operands: tuple[int, ...], values: list[Value]) -> Kind:
    if name in _ATTENTIONS:
        return Kind.ATTENTION
    if name in _CONTRACTIONS:
        return Kind.CONTRACTION
    if name in _LOOKUPS:
        return Kind.LOOKUP
    if name in {"index", "index_select"}:
        by_integers = operands and values[operands[0]].array.ndim == 2 and name == "index"
        return Kind.LOOKUP if by_integers and len(operands) == 2 else Kind.REARRANGEMENT
    if name in _ADDITIONS and len(operands) == 2:
        return Kind.ADDITION
    return Kind.REARRANGEMENT if name in _REARRANGEMENTS else Kind.OTHER


def _attributes(
    name: str, args: tuple[Any, ...], keywords: Mapping[str, Any], operands: tuple[int, ...], values: list[Value]
) -> Mapping[str, Any]:
    if name in _PRODUCTS and len(operands) >= 2:
        return MappingProxyType(_axes(name, operands, values))
    if name in _LOOKUPS and len(args) > len(("table", "rows")) and args[2] >= 0:
        return MappingProxyType({"padding_row": args[2]})
    if name not in _ATTENTIONS:
        return MappingProxyType({})
    given = {**dict(zip(_ATTENTION_ARGUMENTS[name], args[3:], strict=False)), **keywords}
    return MappingProxyType({"is_causal": bool(given.get("is_causal", False)), "scale": given.get("scale")})


def _axes(name: str, operands: tuple[int, ...], values: list[Value]) -> dict[str, Any]:
    """Return which two operands are multiplied, and their axes as `trace.Step` describes them."""
    batch = tuple(range(values[operands[-1]].array.ndim - 2))
    last = len(batch)
    return {
        "factors": (len(operands) - 2, len(operands) - 1),
        "contracted": ((last + 1,), (last,)),
        "parallel": (batch, batch),
    }


def _place() -> tuple[str, int]:
    """Return file and line of the innermost frame that is not the framework's."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _FRAMEWORK and not frame.f_code.co_filename.startswith("<"):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0
