"""Functions that a file imports from a framework: they are not the file's own, and are not judged."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

_FRAMEWORKS = frozenset(
    ("torch", "jax", "numpy", "scipy", "tensorflow", "keras", "mlx", "tinygrad", "cupy", "flax", "equinox", "autograd")
)


def without_imported(found: object, functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return functions without those that a file imports from a framework, if it defines functions or classes.

    One that does nothing but import is meant to have them judged.
    """
    tree = _tree(found) if isinstance(found, ModuleType) else None
    if tree is None or not any(isinstance(one, ast.FunctionDef | ast.ClassDef) for one in tree.body):
        return dict(functions)
    imported = {
        alias.asname or alias.name
        for one in tree.body
        if isinstance(one, ast.ImportFrom) and (one.module or "").partition(".")[0] in _FRAMEWORKS and not one.level
        for alias in one.names
    }
    return {name: function for name, function in functions.items() if name not in imported}


def _tree(found: ModuleType) -> ast.Module | None:
    place = getattr(found, "__file__", None)
    try:
        return ast.parse(Path(str(place)).read_text(encoding="utf-8")) if place else None
    except (OSError, SyntaxError, ValueError):
        return None
