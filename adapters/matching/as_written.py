"""Whether a function of an operation's name answers the interface's call, asked of a copy that keeps nothing."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
from veriformer.adapters import signatures
from veriformer.adapters.arrays import framework
from veriformer.adapters.errors import LoadError
from veriformer.adapters.files import load_file
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.looking import BudgetSpent
from veriformer.adapters.matching.meant import NORMS
from veriformer.adapters.matching.probes import SIZES, Probe, drawn_argument
from veriformer.adapters.matching.texts import tree_of
from veriformer.adapters.matching.trying import Trials
from veriformer.spec.operations import OPERATIONS

_SEED = 5
_OF_VECTORS = (*NORMS, "softmax")
_SUMS = ("sum", "max", "amax", "mean", "var", "std", "average")


def answers_as_written(function: Callable[..., Any], operation: str) -> bool:
    """Return whether a NumPy function returns an array for the required arguments of the interface.

    It is called only where its source looks as if its arrays had other axes: what hangs, or keeps something of a call,
    is the laws' matter. A function that no copy can be made of is taken to answer. What it returns is not compared:
    the reference is not imported for functions that are called as they are written.
    """
    if operation in _OF_VECTORS and _is_of_one_vector(function):
        return False
    if not _has_few_axes(function):
        return True
    record = OPERATIONS[operation]
    if any(one.kind == "weights" or one.requirement == "keyword" for one in record.parameters if one.is_required):
        return True
    if signatures.unaccepted_call(function, record):
        return True
    copy = _copy_of(function)
    if copy is None:
        return True
    sources = {name: (lambda arguments, name=name: arguments[name]) for name in record.positional}
    takings = list(inspect.signature(copy).parameters)[: len(record.positional)]
    by_place = {taken: sources[name] for taken, name in zip(takings, record.positional, strict=True)}
    numbers = np.random.default_rng(_SEED)
    drawn = {one.name: drawn_argument(one, SIZES, numbers) for one in record.parameters if one.is_required}
    probe = Probe(operation, drawn, np.empty(0))
    try:
        return Trials(copy, framework("numpy")).result(Form(operation, by_place, tuple(by_place)), probe) is not None
    except BudgetSpent:
        # No law is tried either.
        return True


def _has_few_axes(function: Callable[..., Any]) -> bool:
    """Return whether a function transposes a matrix, takes a number of each row, or takes apart a shape of two axes."""
    tree = tree_of(function)
    return tree is not None and any(map(_is_of_matrices, ast.walk(tree)))


def _is_of_one_vector(function: Callable[..., Any]) -> bool:
    """Return whether a function takes sums or maxima, all of them over everything that it is given."""
    tree = tree_of(function)
    sums = [node for node in ast.walk(tree) if _is_sum(node)] if tree is not None else []
    return bool(sums) and not any(map(_has_axis, sums))


def _is_sum(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SUMS


def _has_axis(call: ast.Call) -> bool:
    """Return whether a sum names its axis, or keeps it; of NumPy's function the first argument is what is summed."""
    module = call.func.value if isinstance(call.func, ast.Attribute) else None
    of_numpy = isinstance(module, ast.Name) and module.id in ("np", "numpy")
    return bool(call.keywords) or len(call.args) > of_numpy


def _is_of_matrices(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return any(isinstance(one, ast.Attribute) and one.attr == "arange" for one in ast.walk(node.slice))
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return any(isinstance(one, ast.Tuple) and len(one.elts) == 2 for one in node.targets)
    return isinstance(node, ast.Attribute) and node.attr == "T"


def _copy_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the function of a module that was loaded once more; None where it is in no file."""
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.endswith(".py"):
        return None
    loaded = dict(sys.modules)
    try:
        module, _ = load_file(code.co_filename)
    except LoadError:
        return None
    finally:
        # The copy has the private name of the module that was loaded before.
        sys.modules.update({name: one for name, one in loaded.items() if sys.modules.get(name) is not one})
    copy = getattr(module, function.__name__, None)
    return copy if callable(copy) else None
