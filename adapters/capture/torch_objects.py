"""Models of PyTorch that are no modules: objects of own classes, with tensors in attributes, dictionaries and lists.

Their tensors become the parameters of a module, whose calls are made on a copy of the object that holds these.
"""

from __future__ import annotations

import inspect
import sys
from types import FunctionType, ModuleType
from typing import Any

from veriformer.adapters.capture.carried import Copy, arrays_in, by_short_paths, is_own
from veriformer.adapters.capture.numpy_models import forward_of


def is_torch_object(found: object) -> bool:
    """Return whether an object is a model of PyTorch: it can be called and holds tensors of floating-point numbers."""
    if "torch" not in sys.modules or isinstance(found, type | ModuleType | FunctionType) or not is_own(found):
        return False
    return forward_of(found) is not None and bool(arrays_in(found, _is_tensor))


def module_of(found: Any) -> Any:
    """Return a module that does what an object does, and whose parameters are the object's tensors by their paths."""
    from torch import nn

    tensors = by_short_paths(arrays_in(found, _is_tensor))
    forward = forward_of(found)
    assert forward is not None
    holder = type(type(found).__name__, (nn.Module,), {})()
    parameters = {id(one): nn.Parameter(one.detach().clone()) for one in tensors.values()}
    places = {path: _place(holder, path) for path in tensors}
    for path, one in tensors.items():
        module, name = places[path]
        module.register_parameter(name, parameters[id(one)])

    def called(*inputs: Any, **keywords: Any) -> Any:
        # Read where they stand: a module that is converted to another dtype has other tensors.
        held = {id(one): getattr(*places[path]) for path, one in tensors.items()}
        own = forward_of(Copy(held).of(found))
        assert own is not None
        return own(*inputs, **keywords)

    called.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    holder.forward = called
    return holder


def _is_tensor(node: Any) -> bool:
    import torch

    return isinstance(node, torch.Tensor) and node.dtype.is_floating_point


def _place(holder: Any, path: str) -> tuple[Any, str]:
    """Return the module of a path, which is made where there is none, and the name that is left in it."""
    from torch import nn

    *outer, name = path.split(".")
    for piece in outer:
        # A module has attributes of its own.
        own = f"{piece}_" if hasattr(holder, piece) and piece not in holder._modules else piece
        if own not in holder._modules:
            holder.add_module(own, nn.Module())
        holder = holder._modules[own]
    return holder, f"{name}_" if hasattr(holder, name) else name
