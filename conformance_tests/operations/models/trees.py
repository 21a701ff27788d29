"""Trees of weights as mappings from dotted paths to arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array


def arrays_by_path(tree: Any, path: str = "") -> dict[str, Array]:
    """Return each array of a tree of records and lists, by its dotted path: "layers.0.norm_1.gamma"."""
    if isinstance(tree, np.ndarray):
        return {path: tree}
    return {
        found: array
        for name, member in _members(tree)
        for found, array in arrays_by_path(member, f"{path}.{name}" if path else name).items()
    }


def with_arrays_at(tree: Any, arrays: Mapping[str, Array], path: str = "") -> Any:
    """Return a tree with the arrays at these paths; KeyError where the tree has one that the mapping lacks."""
    if isinstance(tree, np.ndarray):
        return arrays[path]
    changed: Any = {
        name: with_arrays_at(member, arrays, f"{path}.{name}" if path else name) for name, member in _members(tree)
    }
    if is_dataclass(tree) and not isinstance(tree, type):
        return replace(tree, **changed)
    return list(changed.values()) if isinstance(tree, list | tuple) else tree


def _members(tree: Any) -> list[tuple[str, Any]]:
    if is_dataclass(tree):
        return [(member.name, getattr(tree, member.name)) for member in fields(tree)]
    if isinstance(tree, list | tuple):
        return [(str(number), one) for number, one in enumerate(tree)]
    return []
