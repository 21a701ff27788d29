"""What the parameters of a PyTorch module are called, and what it is called by; a Keras layer has its own names.

On PyTorch a Keras layer is a module, whose parameters lie in one dictionary of the outermost layer, named by a path of
Keras; the layers in it are attributes, as those of any module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from veriformer.adapters.capture.keras_paths import is_keras_layer, named_layers


def named_parameters(model: nn.Module, *, remove_duplicate: bool = True) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield the parameters of a module by path, as `Module.named_parameters` does."""
    names = _names_of_keras(model)
    for name, parameter in model.named_parameters(remove_duplicate=remove_duplicate):
        yield names.get(id(parameter), name), parameter


def named_buffers(model: nn.Module, *, remove_duplicate: bool = True) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the buffers of a module by path, as `Module.named_buffers` does."""
    names = _names_of_keras(model)
    for name, buffer in model.named_buffers(remove_duplicate=remove_duplicate):
        yield names.get(id(buffer), name), buffer


def called_of(model: nn.Module) -> Callable[..., Any]:
    """Return the method whose signature names what a module is given."""
    called: Callable[..., Any] = model.call if is_keras_layer(model) else model.forward
    return called


def _names_of_keras(model: nn.Module) -> dict[int, str]:
    """Return the path of each variable of Keras by its tensor: that of the layer that made it, and its name.

    A layer in a list is no attribute, and has the names of the layers around it.
    """
    names: dict[int, str] = {}
    layers = [(path, module) for path, module in model.named_modules() if is_keras_layer(module)]
    for path, layer in (*layers, *(named_layers(model) if layers else ())):
        for variable in (*layer._trainable_variables, *layer._non_trainable_variables):
            name = f"{path}.{variable.name}" if path else str(variable.name)
            names.setdefault(id(variable.value), name)
    return names
