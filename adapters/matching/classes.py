"""The classes of a file that are whole models or parts of them, told by its text alone."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection
from pathlib import Path

from veriformer.adapters.matching.held import FIRST, makes_weights

# Models of the first are not recorded, those of the others are; Keras runs on several of them.
_NOT_RECORDED = frozenset({"tensorflow", "mlx", "tinygrad"})
_RECORDED = frozenset({"torch", "jax", "flax", "equinox"})
_CALLED = ("forward", "__call__", "call")
NO_FORWARD = "it has no forward pass"
"""What is said of a class of a file that is no model and no operation, such as a trainer."""


# What is private, builds a model, or is run rather than called.
_OF_PROGRAMS = re.compile(r"_|(build|main|test|demo|example)(_|$)")


def classes_in(place: str) -> tuple[list[str], list[str]]:
    """Return what a Python file may have as models: what stands alone, and the classes that are parts of others.

    Alone stand `build`, and the public classes with a forward pass that nothing uses, in the order of their size in the
    file: the whole stands after its parts. So do functions of parameters, where another one makes these. Both are empty
    where the file cannot be read.
    """
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return [], []
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    models = [
        name
        for name, one in classes.items()
        if not name.startswith("_") and _has_forward(one) and not _is_of_autograd(one)
    ]
    users: list[ast.ClassDef | ast.FunctionDef] = [*classes.values(), *_functions(tree)]
    used = {name for one in users for name in _names_in(one) if name != one.name}
    alone = [*_builders(tree), *(name for name in reversed(models) if name not in used)]
    return [*alone, *_with_parameters(tree)], [name for name in models if name in used]


def kinds_of_objects(place: str) -> dict[str, str]:
    """Return the objects that a file makes of its own classes at its top, each with the name of its class."""
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}
    classes = {one.name for one in tree.body if isinstance(one, ast.ClassDef)}
    return {
        target.id: kind
        for one in tree.body
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
        if (kind := ast.unparse(one.value.func)) in classes
        for target in one.targets
        if isinstance(target, ast.Name)
    }


def without_forward_pass(place: str) -> list[str]:
    """Return the public classes of a file with methods of their own and no forward pass, such as a trainer."""
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    classes = [one for one in tree.body if isinstance(one, ast.ClassDef) and not one.name.startswith("_")]
    return [one.name for one in classes if _has_methods(one) and not _has_forward(one) and not _is_of_autograd(one)]


def _is_of_autograd(node: ast.ClassDef) -> bool:
    """Return whether a class is a function of torch's autograd, which is called as `Kind.apply`."""
    return any(ast.unparse(one).rpartition(".")[2] == "Function" for one in node.bases)


def _has_methods(node: ast.ClassDef | ast.FunctionDef) -> bool:
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []
    return any(not one.name.startswith("_") for one in methods)


def _with_parameters(tree: ast.Module) -> list[str]:
    """Return the public functions of parameters that no other one uses, where there is one that makes parameters."""
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    if not any(makes_weights(one.name) for one in functions):
        return []
    used = {name for one in functions for name in _names_in(one) if name != one.name}
    public = [one for one in functions if not one.name.startswith("_") and one.name not in used]
    made = [one for one in reversed(public) if any(it.arg.casefold() in FIRST for it in one.args.args[:2])]
    return [one.name for one in made if not makes_weights(one.name)]


def functions_beside(place: str) -> list[str]:
    """Return the public functions with parameters of a file that nothing else in it uses, outside of what is run."""
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    parts = [one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef)]
    used = {name for one in parts for name in _names_in(one) if name != one.name}
    functions = [one for one in parts if isinstance(one, ast.FunctionDef) and (one.args.args or one.args.kwonlyargs)]
    return [one.name for one in functions if not _OF_PROGRAMS.match(one.name) and one.name not in used]


def left_beside(place: str, judged: Collection[str]) -> list[str]:
    """Return the public functions with parameters and the public classes of a file that nothing judged is made with."""
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    parts = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef)}
    reached = [name for name in parts if name in judged]
    for name in reached:
        reached += [one for one in _names_in(parts[name]) if one in parts and one not in reached]
    left = [one for name, one in parts.items() if name not in reached and not _OF_PROGRAMS.match(name)]
    return [one.name for one in left if _has_methods(one) or (isinstance(one, ast.FunctionDef) and one.args.args)]


def is_never_recorded(place: str) -> bool:
    """Return whether a file, or an object in it, is of a framework whose models cannot be recorded, and builds none."""
    path = place.partition(":")[0]
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8")) if path.endswith(".py") else None
    except (OSError, SyntaxError, ValueError):
        return False
    if tree is None or _functions(tree) or os.environ.get("KERAS_BACKEND") in _RECORDED:
        return False
    imported = {name.partition(".")[0] for one in ast.walk(tree) for name in _imported_by(one)}
    return bool(imported & _NOT_RECORDED) and not imported & _RECORDED


def _imported_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Return the function that builds the model, whose classes are parts of it."""
    return [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "build"]


def _builders(tree: ast.Module) -> list[str]:
    """Return `build` where it needs no argument."""
    return [one.name for one in _functions(tree) if len(one.args.args) == len(one.args.defaults)][:1]


def _has_forward(node: ast.ClassDef) -> bool:
    return any(isinstance(one, ast.FunctionDef) and one.name in _CALLED for one in node.body)


def _names_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
