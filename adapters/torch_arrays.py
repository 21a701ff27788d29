"""PyTorch tensors, on the CPU unless an implementation names another device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from veriformer.adapters.arrays import DTYPES
from veriformer.adapters.cotangents import require_shapes, results_of
from veriformer.adapters.errors import AdapterError, DifferentiationRefused, LoadError, NotDifferentiable, describe
from veriformer.adapters.numpy_arrays import checked_dtype, simple_kind


class TorchArrays:
    """PyTorch's tensors on one device."""

    name = "torch"
    compiles_per_shape = False
    differentiates = True

    def __init__(self, device: str = "cpu") -> None:
        self.device = device

    @property
    def dtypes(self) -> tuple[str, ...]:
        """float16, bfloat16, float32 and float64."""
        return DTYPES

    def on(self, device: str) -> TorchArrays:
        """Return the tensors of another device; LoadError where torch cannot put a number there."""
        try:
            torch.zeros(1, device=device).cpu()
        except Exception as error:
            raise LoadError(f"torch has no device {device!r} here ({describe(error)})") from error
        return TorchArrays(device)

    def missing_dtype(self, dtype: str) -> str:
        """Return that torch lacks `dtype`."""
        return f"torch has no {dtype} here; its dtypes are {', '.join(self.dtypes)}"

    def from_numpy(self, array: np.ndarray, dtype: str | None = None) -> Any:
        """Return a new contiguous tensor in `dtype`, bool or int64."""
        kind = simple_kind(array)
        if kind != "float":
            plain = torch.from_numpy(np.array(array, dtype="bool" if kind == "bool" else "int64", order="C"))
            return plain.to(self.device)
        name = checked_dtype(dtype, self.dtypes, self.missing_dtype)
        # Rounded before it travels: not every device has float64.
        return torch.from_numpy(np.array(array, dtype=np.float64, order="C")).to(getattr(torch, name)).to(self.device)

    def to_numpy(self, value: Any) -> np.ndarray:
        """Return a copy as float64, bool or int64.

        ValueError for complex numbers, and for a tensor whose memory has been given back.
        """
        if not _has_its_memory(value):
            raise ValueError("its storage is smaller than the tensor")
        detached = value.detach().to("cpu")
        if detached.is_complex():
            raise ValueError("its numbers are complex")
        wide = torch.float64 if detached.is_floating_point() else torch.int64
        wide = torch.bool if detached.dtype == torch.bool else wide
        return np.array(detached.to(wide).numpy(), order="C", copy=True)

    def overwrite(self, array: Any, values: Any) -> None:
        """Write the values of another tensor over a tensor; ValueError where its memory has been given back."""
        if not _has_its_memory(array):
            raise ValueError("its storage is smaller than the tensor")
        # An operation may have made it one to be differentiated.
        with torch.no_grad():
            array.copy_(values)

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is a tensor."""
        return isinstance(value, torch.Tensor)

    def dtype_name(self, value: Any) -> str:
        """Return the dtype's name without "torch."."""
        return str(value.dtype).removeprefix("torch.")

    def strided(self, array: Any) -> Any:
        """Return a transposed view of every second element of a larger buffer."""
        if array.ndim == 0 or array.numel() == 0:
            return array
        turned = _transposed(array)
        buffer = torch.empty((*turned.shape[:-1], 2 * turned.shape[-1]), dtype=array.dtype, device=array.device)
        buffer[..., 1::2] = _between(turned)
        buffer[..., ::2] = turned
        return _transposed(buffer[..., ::2])

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call as a user does, with gradients recorded, and cut the result off from its graph.

        A program for inference may write over its parameters, or read them as NumPy's, which torch refuses while it
        records: such a call is made again without gradients.
        """
        # Whatever mode the call leaves behind is put back.
        with torch.set_grad_enabled(torch.is_grad_enabled()):
            try:
                returned = function(*positional, **keywords)
            except RuntimeError as error:
                if not _needs_no_grad(error):
                    raise
                with torch.no_grad():
                    returned = function(*positional, **keywords)
        return _cut_off(returned)

    def vector_jacobian_product(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        cotangents: tuple[Any, ...],
        differentiated: tuple[int, ...],
    ) -> tuple[Any, ...]:
        """Call with gradients recorded, on leaves that share the arguments' memory, and go back with autograd."""
        try:
            return self._gone_back(function, arguments, cotangents, differentiated, _by_grad)
        except _CallsBackward:
            return self._gone_back(function, arguments, cotangents, differentiated, _by_backward)

    def _gone_back(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        cotangents: tuple[Any, ...],
        differentiated: tuple[int, ...],
        go_back: Callable[..., Sequence[Any]],
    ) -> tuple[Any, ...]:
        leaves = tuple(arguments[place].detach().requires_grad_() for place in differentiated)
        of_place = dict(zip(differentiated, leaves, strict=True))
        whole = tuple(of_place.get(place, argument) for place, argument in enumerate(arguments))
        results = results_of(_recorded(function, whole), cotangents)
        if not any(_is_recorded(result) for result in results):
            raise _cut_off_from_inputs(function, whole)
        require_shapes(results, cotangents)
        paired = [(result, cotangent.to(result.dtype)) for result, cotangent in zip(results, cotangents, strict=True)]
        # torch refuses to go back from a result that leads nowhere, even where others lead somewhere.
        ends, given = zip(*(pair for pair in paired if _is_recorded(pair[0])), strict=True)
        try:
            found = go_back(ends, leaves, given)
        except RuntimeError as error:
            if "use_reentrant=True" in str(error):
                raise _CallsBackward from error
            if "modified by an inplace operation" not in str(error):
                raise
            raise DifferentiationRefused(
                "torch does not differentiate the forward pass, which writes over what gradients need"
            ) from error
        if any(gradient is None for gradient in found) and any(_has_other_leaves(end, leaves) for end in ends):
            raise DifferentiationRefused(
                "the forward pass copies its weights into parameters of its own: gradients reach the copies alone"
            )
        return tuple(
            torch.zeros_like(leaf) if gradient is None else gradient
            for leaf, gradient in zip(leaves, found, strict=True)
        )

    def use_one_thread(self) -> None:
        """Set torch to one thread, for the whole process.

        Small tensors gain nothing from a second thread, and on a busy machine waiting for it costs far more than
        the work: attention on a few dozen numbers was measured at 5 µs with one thread and 10 ms with two.
        """
        torch.set_num_threads(1)


class _CallsBackward(Exception):
    """The graph calls `backward()` itself, as a reentrant checkpoint does, which torch allows inside one alone."""


def _by_grad(ends: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
    found: Sequence[Any] = torch.autograd.grad(_fed(ends, cotangents), leaves, allow_unused=True)
    return found


def _by_backward(ends: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
    torch.autograd.backward(_fed(ends, cotangents))
    return [leaf.grad for leaf in leaves]


class _Fed(torch.autograd.Function):  # type: ignore[misc]
    """A number of no meaning, from which a cotangent goes back into a result as it is.

    Where a cotangent is handed to autograd itself, torch imports SymPy, which takes longer than the calls of most laws.
    It is the tensor of the call all the same, so that a backward pass that writes over it is found.
    """

    @staticmethod
    def forward(ctx: Any, end: Any, cotangent: Any) -> Any:
        """Return zero, and keep the cotangent."""
        ctx.cotangent = cotangent
        return end.new_zeros(())

    @staticmethod
    def backward(ctx: Any, _: Any) -> Any:
        """Return the cotangent of the result; the cotangent itself has none."""
        return ctx.cotangent, None


def _fed(ends: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    return [_Fed.apply(end, cotangent) for end, cotangent in zip(ends, cotangents, strict=True)]


def _has_its_memory(tensor: Any) -> bool:
    """Return whether a tensor's storage reaches as far as the tensor does: reading beyond would end the process."""
    if tensor.layout != torch.strided or tensor.device.type == "meta" or tensor.numel() == 0:
        return True
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return bool(tensor.untyped_storage().nbytes() >= (tensor.storage_offset() + last + 1) * tensor.element_size())


def _recorded(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return what a call returns where gradients are recorded; DifferentiationRefused where torch refuses that."""
    with torch.enable_grad():
        try:
            return function(*arguments)
        except RuntimeError as error:
            if not _needs_no_grad(error):
                raise
            raise DifferentiationRefused(
                f"the forward pass is made for inference: torch records no gradients through it ({describe(error)})"
            ) from error


def _is_recorded(result: Any) -> bool:
    return isinstance(result, torch.Tensor) and result.requires_grad


def _has_other_leaves(result: torch.Tensor, leaves: tuple[torch.Tensor, ...]) -> bool:
    """Return whether gradients of a result reach leaves besides the given ones, such as a module's parameters."""
    own = {id(leaf) for leaf in leaves}
    seen, waiting = set(), [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable") and id(node.variable) not in own:
            return True
        waiting.extend(following for following, _ in node.next_functions)
    return False


class _Recording(TorchFunctionMode):  # type: ignore[misc]
    """Whether anything was computed that a gradient could flow back through."""

    found = False

    def __torch_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None
    ) -> Any:
        result = function(*arguments, **(keywords or {}))
        self.found |= isinstance(result, torch.Tensor) and result.grad_fn is not None
        return result


def _cut_off_from_inputs(function: Callable[..., Any], arguments: tuple[Any, ...]) -> AdapterError:
    """Return why no gradient leads back from a result: it was cut off on the way, or there never was one."""
    with _Recording() as recording:
        _recorded(function, arguments)
    if not recording.found:
        return DifferentiationRefused("the forward pass is made for inference: it records no gradient")
    return NotDifferentiable(
        "the result of the forward pass is cut off from its inputs: nothing leads back to a leaf that requires a "
        "gradient, though one was recorded on the way; compute the result without detach() or .data"
    )


def _needs_no_grad(error: RuntimeError) -> bool:
    return torch.is_grad_enabled() and "requires grad" in str(error)


def _cut_off(returned: Any) -> Any:
    """Return the tensors of a result without their graphs, which keep all that was computed; the rest as it is.

    A cache stays the very object that was returned, because a program may use it twice.
    """
    if type(returned) in (tuple, list):
        return type(returned)(map(_without_graph, returned))
    return _without_graph(returned)


def _without_graph(part: Any) -> Any:
    return part.detach() if isinstance(part, torch.Tensor) and part.requires_grad else part


def _transposed(tensor: Any) -> Any:
    return tensor.permute(*reversed(range(tensor.ndim)))


def _between(tensor: Any) -> Any:
    if tensor.dtype == torch.bool:
        return ~tensor
    return float("nan") if tensor.is_floating_point() else -1


FRAMEWORK = TorchArrays()
