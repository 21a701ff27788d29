"""Arrays and numbers within what an optimizer keeps or returns: lists, mappings, records and objects."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from veriformer.adapters.matching.namespaces import shape_of

Path = tuple[Any, ...]
_DEEPEST = 6


def members_of(node: Any) -> list[tuple[Any, Any]]:
    """Return the members of a node with their keys; none of a leaf."""
    if isinstance(node, Mapping):
        return list(node.items())
    if hasattr(node, "_fields"):
        return [(name, getattr(node, name)) for name in node._fields]
    if isinstance(node, list | tuple):
        return list(enumerate(node))
    if is_dataclass(node) and not isinstance(node, type):
        return [(one.name, getattr(node, one.name)) for one in fields(node)]
    if hasattr(node, "shape") or callable(node) or not hasattr(node, "__dict__"):
        return []
    return list(vars(node).items())


def leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the leaves of a tree with their paths; an object's members are those of its dictionary."""
    found = members_of(node) if len(path) < _DEEPEST else []
    if not found:
        yield path, node
    for key, member in found:
        yield from leaves(member, (*path, key))


def names_on(path: Path) -> list[str]:
    """Return the names on a path from its end, folded."""
    return [one.replace("_", "").casefold() for one in reversed(path) if isinstance(one, str)]


def exchanged(node: Any, change: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """Return a tree with other leaves: mappings, lists and objects in place, tuples and records anew."""
    found = members_of(node) if len(path) < _DEEPEST else []
    if not found:
        return change(path, node)
    new = {key: exchanged(member, change, (*path, key)) for key, member in found}
    if isinstance(node, tuple):
        return type(node)(*new.values()) if hasattr(node, "_fields") else tuple(new.values())
    for key, member in new.items():
        if isinstance(node, dict | list):
            node[key] = member
        else:
            object.__setattr__(node, key, member)
    return node


def arrays_in(node: Any, shape: tuple[int, ...]) -> list[Any]:
    """Return the arrays of a shape in a tree, in order."""
    return [one for _, one in leaves(node) if hasattr(one, "shape") and shape_of(one) == shape]


def copied(array: Any) -> Any:
    """Return an array of its own memory, where its framework lets arrays be changed."""
    if hasattr(array, "detach"):
        return array.detach().clone()
    return array.copy() if type(array).__module__ == "numpy" else copy.copy(array)
