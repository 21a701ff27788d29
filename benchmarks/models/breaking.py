"""Mistakes put into a torch model while it runs: steps of its pass do something else, or modules run otherwise.

A step is named by the module that runs it, its operation, and how many of these came before it in that module, so that
it is found again in another pass, whatever the weights and the numbers are. The model itself is not changed.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten
from veriformer.adapters.capture.trace import Step


class Address(NamedTuple):
    """A step of any pass of a model."""

    module: str
    operation: str
    occurrence: int


@dataclass
class Call:
    """One operation that is about to run; `kept` is what earlier replacements of the same pass left for later ones."""

    function: Any
    args: tuple[Any, ...]
    keywords: Mapping[str, Any]
    kept: dict[str, Any]

    def run(self) -> Any:
        """Return what the operation gives as it is."""
        return self.function(*self.args, **self.keywords)

    def tensors(self) -> list[torch.Tensor]:
        """Return the tensors that the operation takes, in the order of a step's operands."""
        return [leaf for leaf in tree_flatten((self.args, self.keywords))[0] if isinstance(leaf, torch.Tensor)]

    def run_with(self, changes: Mapping[int, Callable[[torch.Tensor], torch.Tensor]]) -> Any:
        """Return what the operation gives where some of its tensors, named by their places, are changed."""
        leaves, tree = tree_flatten((self.args, self.keywords))
        places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        for place, change in changes.items():
            leaves[places[place]] = change(leaves[places[place]])
        args, keywords = tree_unflatten(leaves, tree)
        return self.function(*args, **keywords)


Replacement = Callable[[Call], Any]
Forward = Callable[..., Any]


@dataclass(frozen=True)
class Break:
    """A mistake: replacements of steps, and of the forward passes of modules, each of which is made of the right one.

    `where` is the module with the mistake.
    """

    name: str
    steps: Mapping[Address, Replacement] = field(default_factory=lambda: MappingProxyType({}))
    forwards: Mapping[str, Callable[[Forward], Forward]] = field(default_factory=lambda: MappingProxyType({}))
    where: str = ""


def addresses(steps: Sequence[Step]) -> list[Address]:
    """Return the address of each step of a recorded pass."""
    counts: Counter[tuple[str, str]] = Counter()
    found = []
    for step in steps:
        key = (step.module, step.operation)
        found.append(Address(*key, counts[key]))
        counts[key] += 1
    return found


@contextmanager
def broken(model: nn.Module, mistake: Break) -> Iterator[None]:
    """Let a model make a mistake whenever it runs."""
    path: list[str] = []
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if not isinstance(module, torch.jit.ScriptModule):
                _follow(stack, module, name, path)
        for name, change in mistake.forwards.items():
            _replace_forward(stack, model.get_submodule(name), change)

        def breaking(forward: Forward) -> Forward:
            def run(*args: Any, **keywords: Any) -> Any:
                with _Breaking(mistake.steps, path):
                    return forward(*args, **keywords)

            return run

        _replace_forward(stack, model, breaking)
        yield


def _follow(stack: ExitStack, module: nn.Module, name: str, path: list[str]) -> None:
    """Keep the path of the module that is running at the end of `path`."""
    stack.callback(module.register_forward_pre_hook(lambda *_: path.append(name)).remove)

    def leave(*_: Any) -> None:
        path.pop()

    stack.callback(module.register_forward_hook(leave, always_call=True).remove)


def _replace_forward(stack: ExitStack, module: nn.Module, change: Callable[[Forward], Forward]) -> None:
    right, had = module.forward, "forward" in vars(module)
    # The signature stays: inputs are guessed from it.
    module.forward = functools.wraps(right)(change(right))
    stack.callback(setattr, module, "forward", right) if had else stack.callback(delattr, module, "forward")


class _Breaking(TorchDispatchMode):  # type: ignore[misc]
    """Replaces steps; what they do in their place is recorded by a mode that was entered before this one."""

    def __init__(self, replacements: Mapping[Address, Replacement], path: list[str]) -> None:
        super().__init__()
        self._replacements = replacements
        self._path = path
        self._counts: Counter[tuple[str, str]] = Counter()
        self._kept: dict[str, Any] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run an operation, or what takes its place."""
        keywords = kwargs or {}
        key = (self._path[-1] if self._path else "", f"aten.{function.overloadpacket.__name__}")
        replacement = self._replacements.get(Address(*key, self._counts[key]))
        self._counts[key] += 1
        if replacement is None:
            return function(*args, **keywords)
        result = replacement(Call(function, args, keywords, self._kept))
        if function._schema.is_mutable and isinstance(result, torch.Tensor) and result is not args[0]:
            return args[0].copy_(result)
        return result
