"""The arrays that a cache holds, whatever it is made of: lists, dictionaries, or objects of the model's own classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from veriformer.adapters.whole_models.sequence import Sequences

BITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}
"""How many bits the numbers of a dtype have."""
# A cache has lists of arrays for the layers, perhaps in objects of their own.
_DEEPEST = 6


def cast(sequences: Sequences, tree: Any, depth: int = 0) -> Any:
    """Return a cache whose numbers have the dtype of the stage; lists, dictionaries and objects are changed in place.

    A buffer that a model makes in float32 would round what its parameters in float64 give.
    """
    framework = sequences.stage.framework
    if framework.is_array(tree):
        is_other = framework.dtype_name(tree) in BITS and framework.dtype_name(tree) != sequences.stage.dtype
        return sequences.as_framework(sequences.as_numpy(tree)) if is_other else tree
    if isinstance(tree, tuple):
        members = [cast(sequences, one, depth + 1) for one in tree]
        return type(tree)(*members) if hasattr(tree, "_fields") else tuple(members)
    own = _members(tree) if depth < _DEEPEST else {}
    for key in own if isinstance(own, dict) else range(len(own)):
        own[key] = cast(sequences, own[key], depth + 1)
    return tree


def dtypes_in(sequences: Sequences, tree: Any, depth: int = 0) -> Iterator[str]:
    """Yield the dtypes of the arrays in a cache."""
    framework = sequences.stage.framework
    if framework.is_array(tree):
        yield framework.dtype_name(tree)
        return
    own = tree if isinstance(tree, tuple) else _members(tree)
    for one in (own.values() if isinstance(own, dict) else own) if depth < _DEEPEST else ():
        yield from dtypes_in(sequences, one, depth + 1)


def _members(tree: Any) -> dict[Any, Any] | list[Any]:
    """Return what holds the members of a list, a dictionary or an object; what can be called, as a model, has none."""
    if isinstance(tree, dict | list):
        return tree
    held = None if callable(tree) else getattr(tree, "__dict__", None)
    return held if isinstance(held, dict) else {}
