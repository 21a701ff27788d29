"""Clipping of gradients as people write it: of lists, mappings and parameters with gradients, anew or in place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import parameters_of, words_of
from veriformer.adapters.matching.namespaces import shape_of
from veriformer.adapters.matching.trees import copied, leaves
from veriformer.adapters.matching.wired import DoesNotFit, Wired, roles_of

CLIP = "clip_by_global_norm"
_NAMES: Mapping[str, str] = {
    "gradients": "grads grad gradients g updates tree gradtree gradienttree gs",
    "parameters": "parameters params model module ps",
    "max_norm": "maxnorm clip maxgradnorm clipnorm threshold limit maxgrad c bound maxgradientnorm "
    "maxl2norm l2norm maxnorml2 normlimit clippingnorm",
}
_OTHERWISE = {"value", "adaptive", "agc", "noise", "sample", "samples", "ratio"}
_Containers = Callable[[list[Any]], Any]


def operations(function: Any, name: str) -> Iterator[str]:
    """Yield the operation where a function clips gradients by its name and its parameters."""
    words = {*words_of(name)}
    roles = roles_of(_NAMES, [one.name for one in parameters_of(function) or []])
    named = bool({"clip", "clipped", "clipping"} & words)
    about = {"norm", "grad", "grads", "gradient", "gradients", "global"} & words
    if not isinstance(function, type) and named and about and not words & _OTHERWISE and "max_norm" in roles:
        yield CLIP


def probes(_: str) -> list[dict[str, Any]]:
    """Return gradients far above the bound, and below it."""
    numbers = np.random.default_rng(3)
    drawn = [numbers.standard_normal(shape) * 3 for shape in ((3, 4), (5,), (2, 2))]
    return [{"gradients": drawn, "max_norm": 0.7}, {"gradients": drawn, "max_norm": 500.0}]


def forms(function: Any, operation: str) -> Iterator[Wired]:
    """Yield the forms of a function that clips; DoesNotFit where nothing is the gradients."""
    takings = parameters_of(function) or []
    roles = roles_of(_NAMES, [one.name for one in takings])
    first = roles.get("gradients", roles.get("parameters"))
    unknown = [one.name for one in takings if not one.has_default and one.name not in roles.values()]
    if first is None or unknown:
        raise DoesNotFit(f"nothing is {'gradients' if first is None else ' or '.join(unknown)}")
    for words, held in _HELD if "gradients" in roles else (*_HELD_BY_PARAMETERS, *_HELD):
        yield Wired(operation, {}, wiring=partial(_called, roles, first, held), words=(words,))


def _called(
    roles: Mapping[str, str], first: str, held: _Containers, function: Callable[..., Any], given: Arguments
) -> Any:
    gradients = [copied(one) for one in given["gradients"]]
    container = held(gradients)
    returned = function(**{first: container, roles["max_norm"]: given["max_norm"]})
    shapes = [shape_of(one) for one in gradients]
    parts = returned if type(returned) is tuple and type(container) is not tuple else (returned,)
    for part in (returned, *parts):
        arrays = _arrays(part)
        if arrays and [shape_of(one) for one in arrays] == shapes and not _are_parameters(part):
            return arrays
    return _arrays(container)


def _arrays(tree: Any) -> list[Any]:
    """Return the arrays of a tree, or the gradients of what has some."""
    if isinstance(tree, list | tuple) and tree and all(hasattr(one, "grad") and one.grad is not None for one in tree):
        return [one.grad for one in tree]
    if hasattr(tree, "parameters"):
        return [one.grad for one in tree.parameters()]
    return [one for _, one in leaves(tree) if hasattr(one, "shape")]


def _are_parameters(tree: Any) -> bool:
    return isinstance(tree, list | tuple) and any(getattr(one, "grad", None) is not None for one in tree)


def _keyed(gradients: list[Any]) -> dict[str, Any]:
    return {f"w{number}": one for number, one in enumerate(gradients)}


def _parameters(gradients: list[Any]) -> list[Any]:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(gradients[0], torch.Tensor):
        return [SimpleNamespace(data=one, grad=one, shape=one.shape) for one in gradients]
    found = [torch.nn.Parameter(torch.ones_like(one)) for one in gradients]
    for parameter, one in zip(found, gradients, strict=True):
        parameter.grad = one
    return found


def _model(gradients: list[Any]) -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        raise TypeError("there is no module without torch")
    return torch.nn.ParameterList(_parameters(gradients))


_HELD: tuple[tuple[str, _Containers], ...] = (("a list", list), ("a mapping", _keyed), ("a tuple", tuple))
_HELD_BY_PARAMETERS: tuple[tuple[str, _Containers], ...] = (
    ("parameters with gradients", _parameters),
    ("a module", _model),
)
