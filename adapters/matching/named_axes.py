"""Along which axis a function computes, as its source says, and whether its text says why that is the first one."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any

from veriformer.adapters.matching.names import folded, parameters_of, words_of
from veriformer.adapters.matching.texts import called_name, source_of, tree_of

_REDUCTIONS = frozenset(
    """
    max amax sum mean average var std norm softmax log_softmax logsumexp reduce_max reduce_sum reduce_mean reduce_std
    reduce_variance reduce_logsumexp
    """.split()  # noqa: SIM905
)
_AXIS = ("axis", "axes", "dim")
_VECTORS = frozenset({"v", "vec", "vector"})
_COLUMNS = frozenset({"column", "columns", "columnwise", "cols", "col"})
# "A vector", "a 1-D array", or a shape of one axis; vectors "along the last axis" have axes before it.
_ONE_VECTOR = re.compile(
    r"\b(an?|one|the|single|input|score|logits?)\s+([\w-]+\s+)?vector\b|\b1-?d\b|\b(one|single)[- ]dimensional\b"
    r"|\b(shape|size)\W*[(\[]\s*\w+\s*,?\s*[)\]]|[(\[]\s*\w+\s*,\s*[)\]]|\[[\w.]+,\s*[\"']\s*\w+\s*[\"']\]",
    re.I,
)
_OF_FIRST = re.compile(
    r"\b(columns?|column-?wise)\b|\b(axis|dim(ension)?)\s*=?\s*(0|zero)\b|\b(first|leading)\s+(axis|dim(ension)?)\b",
    re.I,
)


def computes_along_first_axis(function: Callable[..., Any]) -> bool:
    """Return whether source sums, or the like, along axis 0 by its number: `x.max(0)` or `np.sum(e, axis=0)`."""
    calls = (node for node in ast.walk(tree_of(function) or ast.Module([], [])) if isinstance(node, ast.Call))
    return any(called_name(one.func) in _REDUCTIONS and _is_along_first(one) for one in calls)


def _is_along_first(call: ast.Call) -> bool:
    if any(one.arg in _AXIS and _is_zero(one.value) for one in call.keywords):
        return True
    # The built-in functions max(x, 0) and sum(x, 0) have no axis.
    is_method = isinstance(call.func, ast.Attribute)
    if not call.args or not (is_method or called_name(call.func) not in ("max", "sum")):
        return False
    return (is_method and _is_zero(call.args[0])) or (len(call.args) > 1 and _is_zero(call.args[1]))


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 0


def says_one_vector(function: Callable[..., Any]) -> bool:
    """Return whether the name, a parameter, the documentation or a comment says that one vector is given."""
    names = _names(function)
    return bool(_VECTORS & names) or bool(_ONE_VECTOR.search(_said(function)))


def says_columns(function: Callable[..., Any]) -> bool:
    """Return whether the name, a parameter, the documentation or a comment says that columns, or axis 0, are meant."""
    names = _names(function)
    return bool(_COLUMNS & names) or bool(_OF_FIRST.search(_said(function)))


def _names(function: Callable[..., Any]) -> set[str]:
    called = [str(getattr(function, "__name__", "")), *(one.name for one in parameters_of(function) or ())]
    return {word for name in called for word in (folded(name), *words_of(name))}


def _said(function: Callable[..., Any]) -> str:
    """Return the documentation of a function, what its parameters are annotated with, and its comments."""
    lines = (source_of(function) or "").splitlines()
    annotated = [one for one in lines if one.lstrip().startswith("def ")]
    comments = [after for one in lines for _, mark, after in [one.partition("#")] if mark]
    return "\n".join([inspect.getdoc(function) or "", *annotated, *comments])
