"""Trees of weights as mappings from dotted paths to arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

TreeT = TypeVar("TreeT")


def arrays_by_path(tree: Any, path: str = "") -> dict[str, Array]:
    """Return each array of a tree of records and lists, by its dotted path: "layers.0.norm_1.gamma"."""
    if isinstance(tree, np.ndarray):
        return {path: tree}
    return {
        found: array
        for name, member in _members(tree)
        for found, array in arrays_by_path(member, f"{path}.{name}" if path else name).items()
    }


def with_arrays(tree: TreeT, arrays: Mapping[str, Array], path: str = "") -> TreeT:
    """Return a tree with the arrays at these paths; KeyError where the tree has one that the mapping lacks."""
    changed: Any = {
        name: with_arrays(member, arrays, f"{path}.{name}" if path else name) for name, member in _members(tree)
    }
    found: Any = tree
    if isinstance(tree, np.ndarray):
        found = arrays[path]
    elif isinstance(tree, list | tuple):
        found = list(changed.values())
    elif is_dataclass(tree) and not isinstance(tree, type):
        found = replace(tree, **changed)
    return found


def _members(tree: Any) -> list[tuple[str, Any]]:
    if is_dataclass(tree):
        return [(member.name, getattr(tree, member.name)) for member in fields(tree)]
    if isinstance(tree, list | tuple):
        return [(str(number), one) for number, one in enumerate(tree)]
    return []
