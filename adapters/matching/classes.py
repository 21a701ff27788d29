"""The classes of a file that are whole models or parts of them, told by its text alone."""

from __future__ import annotations

import ast
from pathlib import Path

_CALLED = ("forward", "__call__", "call")


def classes_in(place: str) -> tuple[list[str], list[str]]:
    """Return the public classes with a forward pass in a Python file: those that stand alone, and parts of others.

    Those that stand alone come in the order of their size in the file: the whole stands after its parts. Both are empty
    where the file cannot be read.
    """
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return [], []
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    models = [name for name, one in classes.items() if not name.startswith("_") and _has_forward(one)]
    users: list[ast.ClassDef | ast.FunctionDef] = [*classes.values(), *_functions(tree)]
    used = {name for one in users for name in _names_in(one) if name != one.name}
    return [name for name in reversed(models) if name not in used], [name for name in models if name in used]


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Return the function that builds the model, whose classes are parts of it."""
    return [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "build"]


def _has_forward(node: ast.ClassDef) -> bool:
    return any(isinstance(one, ast.FunctionDef) and one.name in _CALLED for one in node.body)


def _names_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
