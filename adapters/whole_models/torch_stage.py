"""A torch.nn.Module on its stage: the copies of its tensors that a recorded pass has, for many passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.torch_models import eagerly, shapes_of, shapes_of_others, unwrapped
from veriformer.adapters.capture.torch_names import called_of, named_parameters
from veriformer.adapters.capture.torch_state import in_evaluation_mode, on_copies
from veriformer.adapters.capture.torch_widening import widened
from veriformer.adapters.errors import NotDifferentiable
from veriformer.adapters.torch_arrays import TorchArrays
from veriformer.adapters.whole_models.rounding import rounds_to_single
from veriformer.adapters.whole_models.stage import Stage

# More threads cost more than they bring below so many numbers.
_LARGE = 5_000_000
_SINGLE = 4


@contextmanager
def torch_stage(model: nn.Module, arguments: Arguments, seed: int | None, dtype: str | None = None) -> Iterator[Stage]:
    """Put a module on its stage, in `dtype`, or in float64 if it runs in it on these arguments and throughout."""
    module, _ = unwrapped(model)
    threads = torch.get_num_threads()
    wanted = (torch.float64, _own_precision(module)) if dtype is None else (getattr(torch, dtype),)
    try:
        for precision in wanted:
            with in_evaluation_mode(module), on_copies(module, seed, precision):
                stage = TorchStage(module)
                if dtype is not None or precision is not torch.float64 or _serves(stage, arguments):
                    yield stage
                    return
    finally:
        torch.set_num_threads(threads)


def _serves(stage: TorchStage, arguments: Arguments) -> bool:
    try:
        return not rounds_to_single(stage, stage.cast(arguments))
    except Exception:
        return False


def _own_precision(module: nn.Module) -> torch.dtype | None:
    """Return float32 for a model of half precision, whose roundings hide everything; None for any other."""
    narrow = any(one.is_floating_point() and one.element_size() < _SINGLE for one in module.parameters())
    return torch.float32 if narrow else None


class TorchStage(Stage):
    """A module in evaluation mode, on drawn weights."""

    def __init__(self, model: nn.Module) -> None:
        arrays = TorchArrays()
        self.framework = arrays
        self.model = model
        self.called = called_of(model)
        parameters = [one for one in model.parameters() if one.is_floating_point()]
        self.dtype = str(parameters[0].dtype if parameters else torch.get_default_dtype()).removeprefix("torch.")
        self.shapes = shapes_of(model)
        self.buffers = shapes_of_others(model)
        self.size = sum(parameter.numel() for parameter in parameters)
        learned = [(n, one) for n, one in named_parameters(model) if one.requires_grad and one.is_floating_point()]
        self.learned = tuple(name for name, _ in learned)
        self._learned = [one for _, one in learned]
        self._recording = False
        self._kept_free: dict[int, frozenset[int]] = {}
        if self.size < _LARGE:
            arrays.use_one_thread()

    def cast(self, arguments: Arguments) -> Arguments:
        """Return arguments with floating-point tensors in the dtype of the stage."""
        dtype = getattr(torch, self.dtype)

        def cast(leaf: Any) -> Any:
            return leaf.to(dtype) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

        positional, keywords = tree_map(cast, arguments)
        return positional, keywords

    def call(self, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Return whatever the module returns."""
        with eagerly(self.model), torch.set_grad_enabled(self._recording), widened(self.dtype):
            return self.model(*positional, **keywords)

    @contextmanager
    def scaled(self, factor: float) -> Iterator[None]:
        """Multiply all floating-point parameters by a factor, and divide them by it afterwards."""
        with torch.no_grad():
            parameters = [one.data for one in self.model.parameters() if one.is_floating_point()]
            for data in parameters:
                data.mul_(factor)
            try:
                yield
            finally:
                for data in parameters:
                    data.div_(factor)

    @contextmanager
    def moved(self, places: Sequence[int], by: float) -> Iterator[None]:
        """Move some parameters, and put them back exactly afterwards."""
        moving = [self._learned[place].data for place in places]
        before = [data.clone() for data in moving]
        for place, data in zip(places, moving, strict=True):
            data.add_(self.direction(place), alpha=by)
        try:
            yield
        finally:
            for data, old in zip(moving, before, strict=True):
                data.copy_(old)

    def differentiated(self, result: Callable[[], Any], cotangent: Any) -> list[Any]:
        """Go back with autograd, from a pass that records."""
        with self._recorded():
            value = (result() * cotangent).sum()
        if not value.requires_grad:
            raise NotDifferentiable("nothing leads from the result to a parameter: the model is made for inference")
        self._kept_free.update(_rows_of_padding(value.grad_fn, self._learned))
        with widened(self.dtype):
            return list(torch.autograd.grad(value, self._learned, allow_unused=True))

    def differentiated_by_input(self, result: Callable[[Any], Any], inputs: Any, cotangent: Any) -> Any:
        """Go back with autograd, to a leaf that holds the inputs."""
        leaf = inputs.detach().clone().requires_grad_()
        with self._recorded():
            # What is done to the leaf in place is done to a copy of it.
            value = (result(leaf * 1.0) * cotangent).sum()
        with widened(self.dtype):
            return torch.autograd.grad(value, leaf, allow_unused=True)[0] if value.requires_grad else None

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        """Let autograd record a pass; what an earlier one has written into a cache is a constant of it."""
        for held in (*self.model.buffers(), *self._attributes()):
            if held.grad_fn is not None and not held._is_view():
                held.detach_()
        self._recording = True
        try:
            with torch.enable_grad():
                yield
        finally:
            self._recording = False

    def _attributes(self) -> Iterator[torch.Tensor]:
        """Yield the tensors that modules hold as plain attributes, as a cache that is no buffer is."""
        for module in self.model.modules():
            yield from (one for one in vars(module).values() if isinstance(one, torch.Tensor))

    def held(self, place: int) -> torch.Tensor:
        """Return a learned parameter."""
        return self._learned[place].data

    def direction(self, place: int) -> torch.Tensor:
        """Return a direction of a parameter: its numbers, which were drawn, in reverse; ones where all are zero."""
        data = self._learned[place].data
        reverse = data.reshape(-1).flip(0).reshape(data.shape)
        found = reverse if bool(reverse.any()) else torch.ones_like(data)
        if place in self._kept_free:
            # The row of padding is kept free of gradients by design, and so it does not move.
            found = found.clone()
            found[list(self._kept_free[place])] = 0.0
        return found


def _rows_of_padding(last: Any, learned: Sequence[torch.Tensor]) -> dict[int, frozenset[int]]:
    """Return the rows that lookups keep free of gradients (`padding_idx`), by the place of their table."""
    places = {id(one): place for place, one in enumerate(learned)}
    found: dict[int, frozenset[int]] = {}
    waiting, seen = [last], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        before = [one for one, _ in node.next_functions]
        row = getattr(node, "_saved_padding_idx", None)
        for one in before:
            place = places.get(id(getattr(one, "variable", None)))
            # Without a row of padding the number is −1, or as large as an unsigned one.
            if place is not None and row is not None and 0 <= row < learned[place].shape[0]:
                found[place] = found.get(place, frozenset()) | {int(row)}
        waiting.extend(before)
    return found
