"""What the text of a function says of its results."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from veriformer.adapters.matching.texts import tree_of


def returns_several(function: Callable[..., Any]) -> bool:
    """Return whether every `return` of a function's own has several values; False where its text cannot be had."""
    tree = tree_of(function)
    found = [one for statement in (tree.body[:1] if tree else ()) for one in _returns(statement, own=True)]
    return bool(found) and all(isinstance(one.value, ast.Tuple | ast.Dict) for one in found)


def returned_names(function: Callable[..., Any]) -> dict[Any, str]:
    """Return what the results of a function are called by their places, in its last `return` of several values."""
    tree = tree_of(function)
    found = [one.value for statement in (tree.body[:1] if tree else ()) for one in _returns(statement, own=True)]
    several = [one for one in found if isinstance(one, ast.Tuple)]
    elements = several[-1].elts if several else []
    return {place: one.id for place, one in enumerate(elements) if isinstance(one, ast.Name)}


def _returns(node: ast.AST, *, own: bool = False) -> Iterator[ast.Return]:
    """Yield the return statements of a function, without those of functions within it."""
    if isinstance(node, ast.Return):
        yield node
    if own or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            yield from _returns(child)
