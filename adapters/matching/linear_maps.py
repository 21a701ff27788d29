"""Functions whose parameters are dictionaries of a matrix and its bias, as functions of the arrays in them.

`mha(x, c_attn, c_proj, n_head)` with `c_attn["w"]` and `c_attn["b"]` is one of `c_attn_w`, `c_attn_b` and so on.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from veriformer.adapters.matching.names import parameters_of
from veriformer.adapters.matching.standing_for import standing_for
from veriformer.adapters.matching.texts import source_of

_MATRIX, _BIAS = ("w", "W", "weight", "kernel"), ("b", "bias")
# `linear(x, **c_attn)`
_SPREAD = ("w", "b")


def of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the arrays in its dictionaries of linear maps; the function itself where it has none."""
    source = source_of(function) or ""
    required = [one.name for one in parameters_of(function) or [] if not one.has_default]
    keys = {name: found for name in required if (found := _keys_of(name, source))}
    if not keys:
        return function
    signature = inspect.signature(function)

    def flat(*positional: Any, **named: Any) -> Any:
        bound = wanted.bind(*positional, **named).arguments
        given = {name: value for name, value in bound.items() if name in signature.parameters}
        for name, its in keys.items():
            given[name] = {key: bound[f"{name}_{key}"] for key in its}
        return function(**given)

    parameters = [
        one.replace(name=name)
        for each, one in signature.parameters.items()
        for name in ([f"{each}_{key}" for key in keys[each]] if each in keys else [each])
    ]
    wanted = inspect.Signature(parameters)
    return standing_for(function, flat, getattr(function, "__name__", "function"), wanted)


def _keys_of(name: str, source: str) -> tuple[str, ...]:
    """Return the keys that a function reads of a parameter, if these are a matrix and perhaps a bias."""
    escaped = re.escape(name)
    if re.search(rf"[(,]\s*\*\*\s*{escaped}\b", source):
        return _SPREAD
    read = tuple(dict.fromkeys(re.findall(rf"\b{escaped}\[\s*[\"'](\w+)[\"']\s*\]", source)))
    is_map = any(one in _MATRIX for one in read) and all(one in (*_MATRIX, *_BIAS) for one in read)
    return read if is_map else ()
