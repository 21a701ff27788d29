"""Models of torch before a pass: taken out of what is wrapped around them, refused where a pass would tell nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_map
from veriformer.adapters.capture.handed_over import is_array
from veriformer.adapters.capture.torch_names import named_buffers, named_parameters
from veriformer.adapters.capture.torch_state import in_evaluation_mode, on_copies
from veriformer.adapters.errors import CaptureError

_QUANTISING = ("torch.ao.nn", "torch.nn.quantized", "torch.ao.quantization", "bitsandbytes", "torchao", "auto_gptq")
_MOST_NAMES = 3
# What the configurations of transformers call the way in which experts are computed.
_OF_EXPERTS = "_experts_implementation"
_HALF = (torch.float16, torch.bfloat16)


def unwrapped(model: nn.Module) -> tuple[nn.Module, tuple[str, ...]]:
    """Return the model inside of torch.compile, DataParallel and the like, with a sentence for each that was left."""
    notes: list[str] = []
    while True:
        if isinstance(getattr(model, "_orig_mod", None), nn.Module):
            notes.append(
                "it was compiled by torch.compile; the module that was compiled is recorded, which runs eagerly"
            )
            model = model._orig_mod
        elif type(model).__module__.startswith(("torch.nn.parallel", "torch.distributed")) and isinstance(
            getattr(model, "module", None), nn.Module
        ):
            notes.append(f"it was wrapped in {type(model).__name__}; its `.module` is recorded")
            model = model.module
        else:
            return model, tuple(notes)


def refuse_unreadable(model: nn.Module, name: str) -> None:
    """Raise CaptureError for a model without values, or with such as are not numbers."""
    tensors = dict((*named_parameters(model), *named_buffers(model)))
    if lazy := [path for path, tensor in tensors.items() if is_lazy(tensor)]:
        raise CaptureError(
            f"{name}: {_listed(lazy)} {_is(lazy)} lazy, with no shape yet; run the model once on its inputs in "
            "build(), or build it with sizes"
        )
    if meta := [path for path, tensor in tensors.items() if tensor.is_meta]:
        raise CaptureError(
            f"{name}: {_listed(meta)} {_is(meta)} on the meta device, which has no values; build the model on the CPU "
            '(without `device="meta"`), or fill it with `to_empty(device="cpu")` and its initialisation'
        )
    if quantised := _quantised(model, tensors):
        raise CaptureError(
            f"{name}: the weights of {_listed(quantised)} are quantised, so that no formula holds exactly; hand it "
            "over before it is quantised"
        )


def _quantised(model: nn.Module, tensors: Mapping[str, torch.Tensor]) -> list[str]:
    parameters = dict(named_parameters(model))
    modules = [
        name
        for name, module in model.named_modules()
        if type(module).__module__.startswith(_QUANTISING) and not type(module).__module__.endswith("fake_quantize")
    ]
    return modules or [
        name
        for name, tensor in tensors.items()
        if tensor.is_quantized
        or type(tensor.data).__module__.startswith(_QUANTISING)
        # Whole numbers of fewer axes count or seed something.
        or (name in parameters and not (tensor.is_floating_point() or tensor.is_complex()) and tensor.ndim > 1)
        or (tensor.is_floating_point() and tensor.element_size() == 1)
    ]


def _listed(names: list[str]) -> str:
    shown = ", ".join(name or "the model" for name in names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def shapes_of(model: nn.Module) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parameters by path, in order."""
    return {name: tuple(parameter.shape) for name, parameter in named_parameters(model)}


def shapes_of_others(model: nn.Module) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the buffers by path, such as masks and tables of positions."""
    return {name: tuple(buffer.shape) for name, buffer in named_buffers(model)}


def as_tensors(model: nn.Module, tree: Any) -> Any:
    """Return inputs as tensors, where the model has its own, floating-point numbers in its precision.

    What is a tensor already is only moved.
    """
    own = next(iter(_own(model)), torch.empty(0))
    precision = own.dtype if own.is_floating_point() else torch.get_default_dtype()

    def converted(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return leaf.to(own.device)
        if not is_array(leaf):
            return leaf
        tensor = torch.tensor(np.asarray(leaf))
        return tensor.to(own.device, precision if tensor.is_floating_point() else None)

    return tree_map(converted, tree)


def _own(model: nn.Module) -> Iterator[torch.Tensor]:
    tensors = (*model.parameters(), *model.buffers())
    yield from (tensor for tensor in tensors if tensor.is_floating_point())
    yield from tensors


def try_to_run(model: nn.Module, inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
    """Run a model and record nothing: for inputs that are only guessed. Raises what the model raises.

    A model that cannot run in its own precision on the CPU, as some of half precision, is tried in float64, in which a
    pass is recorded.
    """
    with in_evaluation_mode(model), torch.no_grad():
        try:
            with on_copies(model, None, None):
                model(*inputs, **keywords)
        except Exception as error:
            if all(tensor.dtype not in _HALF for tensor in _own(model)):
                raise
            try:
                with on_copies(model, None, torch.float64):
                    model(*in_float64(inputs), **in_float64(dict(keywords)))
            except Exception:
                raise error from None


def in_float64(tree: Any) -> Any:
    """Return arguments with floating-point tensors in float64."""

    def cast(leaf: Any) -> Any:
        return leaf.to(torch.float64) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

    return tree_map(cast, tree)


@contextmanager
def recordable() -> Iterator[None]:
    """Compute without gradients; `torch.inference_mode` in the model's own code means this much and no more.

    Tensors of inference mode count no changes, so that nothing could be told of what is written into them.
    """
    kind = torch.inference_mode
    own = kind.__enter__, kind.__exit__

    def enter(self: Any) -> None:
        self._inference_mode_context = torch.set_grad_enabled(torch.is_grad_enabled() and not self.mode)
        self._inference_mode_context.__enter__()

    def leave(self: Any, *raised: Any) -> None:
        self._inference_mode_context.__exit__(*raised)

    try:
        kind.__enter__, kind.__exit__ = enter, leave
        with torch.no_grad():
            yield
    finally:
        kind.__enter__, kind.__exit__ = own


@contextmanager
def eagerly(model: nn.Module) -> Iterator[None]:
    """Let what is compiled inside of a model run as it was written, and the experts of transformers one by one."""
    configurations = _with_fused_experts(model)
    chosen = [getattr(one, _OF_EXPERTS) for one in configurations]
    try:
        for one in configurations:
            setattr(one, _OF_EXPERTS, "eager")
        with _uncompiled():
            yield
    finally:
        for one, before in zip(configurations, chosen, strict=True):
            setattr(one, _OF_EXPERTS, before)


def notes_on_experts(model: nn.Module) -> tuple[str, ...]:
    """Return the sentence that says how experts are run which would be computed by one fused product."""
    chosen = sorted({str(getattr(one, _OF_EXPERTS)) for one in _with_fused_experts(model)})
    return tuple(
        f'its experts, which `experts_implementation="{one}"` computes together, were run one by one, as "eager" does'
        for one in chosen
    )


def _with_fused_experts(model: nn.Module) -> list[Any]:
    """Return the configurations of a model by which transformers computes all experts in one product."""
    kept = [vars(module).get("config") for module in model.modules() if "is_concatenated" in vars(module)]
    found = {id(one): one for one in kept if getattr(one, _OF_EXPERTS, None) not in (None, "eager")}
    return [one for one in found.values() if type(one).__module__.startswith("transformers.")]


def _uncompiled() -> AbstractContextManager[Any]:
    # Nothing is compiled where the compiler was not imported, and importing it takes seconds.
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    stance: AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
    return stance
