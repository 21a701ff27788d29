"""Functions whose parameters are dictionaries of a matrix and its bias, as functions of the arrays in them.

`mha(x, c_attn, c_proj, n_head)` with `c_attn["w"]` and `c_attn["b"]` is one of `c_attn_w`, `c_attn_b` and so on.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from veriformer.adapters.matching.texts import source_of

_MATRIX, _BIAS = ("w", "W", "weight", "kernel"), ("b", "bias")
# `linear(x, **c_attn)`
_SPREAD = ("w", "b")


def of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the arrays in its dictionaries of linear maps; the function itself where it has none."""
    source = source_of(function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [name for name, one in signature.parameters.items() if one.default is one.empty and one.kind in kinds]
    keys = {name: found for name in names if source and (found := _keys_of(name, source))}
    if not keys:
        return function

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
    flat.__name__ = getattr(function, "__name__", "function")
    flat.__module__ = getattr(function, "__module__", "")
    flat.__doc__ = function.__doc__
    flat.__signature__ = wanted  # type: ignore[attr-defined]
    flat.__wrapped__ = function  # type: ignore[attr-defined]
    return flat


def _keys_of(name: str, source: str) -> tuple[str, ...]:
    """Return the keys that a function reads of a parameter, if these are a matrix and perhaps a bias."""
    escaped = re.escape(name)
    if re.search(rf"[(,]\s*\*\*\s*{escaped}\b", source):
        return _SPREAD
    read = tuple(dict.fromkeys(re.findall(rf"\b{escaped}\[\s*[\"'](\w+)[\"']\s*\]", source)))
    is_map = any(one in _MATRIX for one in read) and all(one in (*_MATRIX, *_BIAS) for one in read)
    return read if is_map else ()
