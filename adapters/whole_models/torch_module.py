"""One module of a torch model, called with given weights in the precision that the model has by itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from veriformer.adapters.capture.torch_names import named_parameters
from veriformer.adapters.whole_models.bound_part import BoundPart, WeightPlace
from veriformer.adapters.whole_models.wrapping import NotWrapped

# A module whose result is taken is called with (samples, positions, width), as in its model.
_RANK = 3
_MOST_EXTRA = 4
_LAST_BIASES = ("beta", "b_o", "b_2")


class TorchModule:
    """A module of a model whose weights are set before each call."""

    def __init__(self, model: nn.Module, part: BoundPart, dtype: str) -> None:
        self._part = part
        self._module = model.get_submodule(part.path)
        self._extra, self._sequence_first = _form(self._module, part)
        self.dtype_name = "float32" if dtype == "float64" else dtype
        self._dtype = getattr(torch, self.dtype_name)
        self._tensors = _floating(self._module)
        parameters = dict(named_parameters(model, remove_duplicate=False))
        self._cells = {name: _Cells(place, parameters) for name, place in part.weights.items()}
        self._zeroed = [_Cells(place, parameters) for place in part.zeroed]
        # The module computes in its own precision on these; the model's tensors are exchanged for them during a call.
        self._own = {id(tensor): tensor.data.to(self._dtype) for tensor in self._tensors}

    def operation(self) -> Callable[..., Any]:
        """Return the operation of the interface that the module is."""
        made: Callable[..., Any] = getattr(self, f"_{self._part.operation}")()
        return made

    def _layer_norm(self) -> Callable[..., Any]:
        def layer_norm(x: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
            return self._called(x, {"gamma": gamma, "beta": beta})

        return layer_norm

    def _rms_norm(self) -> Callable[..., Any]:
        def rms_norm(x: Any, gamma: Any, *, eps: float) -> Any:
            return self._called(x, {"gamma": gamma})

        return rms_norm

    def _gelu(self) -> Callable[..., Any]:
        def gelu(x: Any) -> Any:
            return self._called(x, {})

        return gelu

    def _silu(self) -> Callable[..., Any]:
        def silu(x: Any) -> Any:
            return self._called(x, {})

        return silu

    def _feed_forward(self) -> Callable[..., Any]:
        def feed_forward(x: Any, weights: Any, *, activation: str) -> Any:
            return self._called(x, _by_name(weights, "w_1", "b_1", "w_2", "b_2"))

        return feed_forward

    def _gated_feed_forward(self) -> Callable[..., Any]:
        def gated_feed_forward(x: Any, weights: Any, *, activation: str) -> Any:
            return self._called(x, _by_name(weights, "w_gate", "w_up", "w_down"))

        return gated_feed_forward

    def _multi_head_attention(self) -> Callable[..., Any]:
        names = ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o")
        fixed = self._part.fixed_values

        def plain(x: Any, context: Any, weights: Any, *, num_heads: int) -> Any:
            return self._called(x, _by_name(weights, *names))

        def causal(x: Any, context: Any, weights: Any, *, num_heads: int, is_causal: bool = True) -> Any:
            return plain(x, context, weights, num_heads=num_heads)

        def grouped(x: Any, context: Any, weights: Any, *, num_heads: int, num_kv_heads: int = 0) -> Any:
            return plain(x, context, weights, num_heads=num_heads)

        def both(
            x: Any, context: Any, weights: Any, *, num_heads: int, num_kv_heads: int = 0, is_causal: bool = True
        ) -> Any:
            return plain(x, context, weights, num_heads=num_heads)

        is_grouped = fixed.get("num_kv_heads", fixed["num_heads"]) != fixed["num_heads"]
        if "is_causal" in fixed:
            return both if is_grouped else causal
        return grouped if is_grouped else plain

    def _called(self, x: Any, weights: dict[str, Any]) -> Any:
        with torch.no_grad(), self._in_own_precision(x.dtype):
            for cells in self._zeroed:
                cells.fill(None)
            for name, cells in self._cells.items():
                cells.fill(weights[name])
            result = self._result(_of_rank_3(x)).reshape(x.shape)
            for name in _LAST_BIASES:
                if name not in self._cells and weights.get(name) is not None:
                    result = result + weights[name]
            return result

    def _result(self, x: Any) -> Any:
        given = x.transpose(0, 1) if self._sequence_first else x
        returned = _first_tensor(self._module(given, *(given if own else None for own in self._extra)))
        if self._sequence_first:
            returned = returned.transpose(0, 1)
        if tuple(returned.shape) != tuple(x.shape):
            raise ValueError(f"{self._part.path} returned shape {tuple(returned.shape)} for {tuple(x.shape)}")
        return returned

    @contextmanager
    def _in_own_precision(self, dtype: torch.dtype) -> Iterator[None]:
        """Let the module have tensors of its own in this precision, which is the default one meanwhile too."""
        before = [tensor.data for tensor in self._tensors]
        default = torch.get_default_dtype()
        try:
            for tensor in self._tensors:
                tensor.data = self._own[id(tensor)]
            torch.set_default_dtype(dtype)
            yield
        finally:
            torch.set_default_dtype(default)
            for tensor, data in zip(self._tensors, before, strict=True):
                tensor.data = data


class _Cells:
    """The cells of parameters that hold a weight."""

    def __init__(self, place: WeightPlace, parameters: Mapping[str, torch.Tensor]) -> None:
        missing = [name for name in place.parameters if name not in parameters]
        if missing:
            raise NotWrapped(f"it has no parameter {missing[0]}")
        columns = torch.tensor(place.columns)
        self._parts: list[tuple[torch.Tensor, torch.Tensor, _Grid]] = []
        start = 0
        for parameter in (parameters[name] for name in place.parameters):
            inside = torch.nonzero((columns >= start) & (columns < start + parameter.numel())).flatten()
            if len(inside):
                self._parts.append((parameter, inside, _Grid(place.rows, place.step, columns[inside] - start)))
            start += parameter.numel()

    def fill(self, weight: torch.Tensor | None) -> None:
        """Write a weight into its cells, zeros in place of None."""
        for parameter, inside, grid in self._parts:
            flat = parameter.data.contiguous().view(-1)
            grid.fill(flat, None if weight is None else weight if self._is_alone else weight[..., inside])
            if not parameter.data.is_contiguous():
                parameter.data.copy_(flat.view(parameter.shape))

    @property
    def _is_alone(self) -> bool:
        return len(self._parts) == 1


class _Grid:
    """Cells of a vector, as rows that are equally far apart and columns of which each has a place."""

    def __init__(self, rows: int, step: int, columns: torch.Tensor) -> None:
        steps = columns.diff()
        self._is_even = bool((steps == steps[:1]).all()) and (len(steps) == 0 or int(steps[0]) > 0) and step >= 0
        self._strided = ((rows, len(columns)), (step, int(steps[0]) if len(steps) else 1), int(columns[0]))
        self._cells = None if self._is_even else (torch.arange(rows)[:, None] * step + columns).flatten()

    def fill(self, flat: torch.Tensor, weight: torch.Tensor | None) -> None:
        """Write a weight, or zeros, into the cells of a vector."""
        if self._cells is not None:
            flat[self._cells] = 0.0 if weight is None else weight.reshape(-1)
            return
        shape, strides, start = self._strided
        cells = flat.as_strided(shape, strides, flat.storage_offset() + start)
        if weight is None:
            cells.zero_()
        else:
            cells.copy_(weight.reshape(shape))


def _form(module: nn.Module, part: BoundPart) -> tuple[tuple[bool, ...], bool]:
    """Return which further arguments are x rather than None, and whether positions come before samples.

    NotWrapped where there are not so many ways to call the module.
    """
    count = _extra_arguments(module)
    extras = [(True,) * count, (False,) * count] if count else [()]
    if part.operation != "multi_head_attention":
        extras = extras[-1:]
    forms = [(own, first) for own in extras for first in (False, True)]
    # Only where positions meet does it matter which axis they are.
    forms = forms if part.operation == "multi_head_attention" else forms[:1]
    if part.form >= len(forms):
        raise NotWrapped("there is no other way to call it")
    return forms[part.form]


def _extra_arguments(module: nn.Module) -> int:
    """Return how many arguments a module needs after the first; NotWrapped where that is none, or too many."""
    parameters = list(inspect.signature(module.forward).parameters.values())
    by_position = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = [one for one in by_position if one.default is one.empty]
    named = [one for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    takes_any = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    if named or not (by_position or takes_any) or len(needed) > _MOST_EXTRA:
        raise NotWrapped("it needs other arguments than an array")
    return max(len(needed) - 1, 0)


def _floating(module: nn.Module) -> list[torch.Tensor]:
    found: dict[int, torch.Tensor] = {}
    attributes = (value for one in module.modules() for value in vars(one).values())
    for tensor in (*module.parameters(), *module.buffers(), *attributes):
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
            found.setdefault(id(tensor), tensor)
    return list(found.values())


def _by_name(weights: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(weights, name, None) for name in names}


def _of_rank_3(x: torch.Tensor) -> torch.Tensor:
    """Return an array of vectors as samples of positions, as a module of a model is called."""
    if x.ndim > _RANK:
        return x.reshape(-1, *x.shape[-2:])
    return x.reshape((1,) * (_RANK - x.ndim) + tuple(x.shape))


def _first_tensor(returned: Any) -> torch.Tensor:
    """Return what a module returned, or the first of several things: its weights, or a cache, come after."""
    while not isinstance(returned, torch.Tensor):
        values = list(returned.values()) if isinstance(returned, Mapping) else returned
        if not isinstance(values, list | tuple) or not values:
            raise TypeError(f"a {type(returned).__name__} was returned; an array was expected")
        returned = values[0]
    return returned
