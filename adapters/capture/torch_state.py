"""A torch.nn.Module during a recorded pass: in evaluation mode, on copies of its tensors, and afterwards as before.

The tensors stay the same objects, since modules and optimisers hold on to them; their memory is exchanged for that of a
copy. So nothing that the pass writes reaches the model, and what shares memory shares it in the copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from veriformer.adapters.capture.weights import generator_of, is_formula, perturbed

# Containers in which a module may collect something, such as a cache.
_CONTAINERS = (dict, list, set)


@contextmanager
def in_evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode, without the fused layers that cannot be recorded; put everything back.

    Put back are modes, attributes, hooks, and the global random state of torch.
    """
    modules = list(model.modules())
    members = [_members(module) for module in modules]
    fast_path = torch.backends.mha.get_fastpath_enabled()
    random_state = torch.get_rng_state()
    try:
        torch.backends.mha.set_fastpath_enabled(False)
        for module in modules:
            module.training = False
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
        torch.set_rng_state(random_state)
        for module, before in zip(modules, members, strict=True):
            _put_back(module, before)


def _members(module: nn.Module) -> dict[str, tuple[Any, Any]]:
    """Return the attributes of a module, each with a copy of what it contains if it is a container."""
    if isinstance(module, torch.jit.ScriptModule):
        # What it holds lives in TorchScript, where nothing can be exchanged by name.
        return {"training": (module.training, None)}
    return {
        name: (value, value.copy() if isinstance(value, _CONTAINERS) else None) for name, value in vars(module).items()
    }


def _put_back(module: nn.Module, members: dict[str, tuple[Any, Any]]) -> None:
    if isinstance(module, torch.jit.ScriptModule):
        module.training = members["training"][0]
        return
    present = vars(module)
    for name in [name for name in present if name not in members]:
        del present[name]
    for name, (value, content) in members.items():
        present[name] = value
        if content is not None and not _same(value, content):
            _refill(value, content)


def _same(value: Any, content: Any) -> bool:
    """Return whether a container has the very objects that it had, in their order."""
    if len(value) != len(content):
        return False
    if isinstance(value, dict):
        pairs = zip(value.items(), content.items(), strict=True)
        return all(one == other and first is second for (one, first), (other, second) in pairs)
    return all(first is second for first, second in zip(value, content, strict=True))


def _refill(value: Any, content: Any) -> None:
    value.clear()
    if isinstance(value, list):
        value.extend(content)
    else:
        value.update(content)


@contextmanager
def on_copies(model: nn.Module, seed: int | None, dtype: torch.dtype | None) -> Iterator[None]:
    """Let every tensor of a model have its content in other memory, floating-point numbers in `dtype` if one is given.

    With a `seed` every floating parameter has a drawn content, which its own dtype can represent.
    """
    tensors = _tensors(model)
    original = [tensor.data for tensor in tensors]
    default = torch.get_default_dtype()
    # What was computed before can still be differentiated, since no tensor counts as changed since then.
    counted = tuple(tensor for tensor in tensors if not tensor.is_inference())
    try:
        with torch.autograd._unsafe_preserve_version_counter(counted):
            copies: dict[int, torch.Tensor] = {}
            for tensor in tensors:
                _exchange(tensor, copies)
            if seed is not None:
                _draw(model, seed)
            if dtype is not None:
                _cast(tensors, dtype)
                torch.set_default_dtype(dtype)
            yield
    finally:
        torch.set_default_dtype(default)
        for tensor, data in zip(tensors, original, strict=True):
            tensor.data = data


def _tensors(model: nn.Module) -> list[torch.Tensor]:
    """Return the tensors that a model holds, each once: parameters, buffers, and plain attributes."""
    found: dict[int, torch.Tensor] = {}
    for tensor in (*model.parameters(), *model.buffers(), *_attributes(model)):
        found.setdefault(id(tensor), tensor)
    return list(found.values())


def has_memory(tensor: torch.Tensor) -> bool:
    """Return whether the numbers of a tensor lie in one memory, as those of a sparse one do not."""
    return bool(tensor.layout == torch.strided)


def _attributes(model: nn.Module) -> Iterator[torch.Tensor]:
    for module in model.modules():
        if not isinstance(module, torch.jit.ScriptModule):
            for value in vars(module).values():
                # What was computed from parameters is computed again.
                if isinstance(value, torch.Tensor) and value.is_leaf:
                    yield value


def _exchange(tensor: torch.Tensor, copies: dict[int, torch.Tensor]) -> None:
    """Give a tensor the memory of a copy, one for all tensors that share a memory."""
    if not has_memory(tensor):
        tensor.data = tensor.data.clone()
        return
    storage = tensor.untyped_storage()
    if storage._cdata not in copies or copies[storage._cdata].dtype != tensor.dtype:
        copies[storage._cdata] = _whole(tensor.data).clone()
    tensor.data = copies[storage._cdata].as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


# No parameter has this number.
_BEHIND_PARAMETERS = 1_000_000


def _draw(model: nn.Module, seed: int) -> None:
    floating = (parameter for parameter in model.parameters() if parameter.is_floating_point())
    with torch.no_grad():
        for index, parameter in enumerate(floating):
            before = parameter.detach().double().cpu().numpy()
            if not parameter.requires_grad and is_formula(before):
                # A frozen table of sines is a parameter in name alone.
                continue
            array = perturbed(before, generator_of(seed, index))
            parameter.data.copy_(torch.from_numpy(np.ascontiguousarray(array)).view(parameter.shape))
        for index, buffer in enumerate(_biases_of_choices(model)):
            array = perturbed(buffer.double().cpu().numpy(), generator_of(seed, _BEHIND_PARAMETERS + index))
            buffer.data.copy_(torch.from_numpy(array))


def _biases_of_choices(model: nn.Module) -> Iterator[torch.Tensor]:
    """Yield the buffers that training moves from zero, as the corrections of a router's scores: at zero they hide."""
    for name, buffer in model.named_buffers():
        is_vector = buffer.is_floating_point() and buffer.ndim == 1 and buffer.numel() > 1
        if is_vector and "bias" in name.rpartition(".")[2] and not buffer.any():
            yield buffer


def _cast(tensors: list[torch.Tensor], dtype: torch.dtype) -> None:
    """Cast floating tensors, their common memory once."""
    wide: dict[int, torch.Tensor] = {}
    # The memory must last: an address that was given back would be another's.
    narrow = [tensor.data for tensor in tensors]
    for tensor, data in zip(tensors, narrow, strict=True):
        if not data.is_floating_point():
            continue
        if not has_memory(data):
            tensor.data = data.to(dtype)
            continue
        storage = data.untyped_storage()
        if storage._cdata not in wide:
            wide[storage._cdata] = _whole(data).to(dtype)
        tensor.data = wide[storage._cdata].as_strided(data.size(), data.stride(), data.storage_offset())


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    """Return the whole memory that a tensor is a view of, as a vector."""
    storage = tensor.untyped_storage()
    return tensor.new_empty(0).set_(storage, 0, (storage.nbytes() // tensor.element_size(),))
