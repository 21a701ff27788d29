"""Which framework's arrays a function takes that imports none: its methods, keywords and annotations tell."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from veriformer.adapters.array_kinds import frameworks_used
from veriformer.adapters.matching.texts import tree_of

# Methods of torch's tensors that NumPy's arrays lack, or that are an attribute there.
_OF_TORCH = frozenset(
    """
    softmax log_softmax logsumexp masked_fill masked_fill_ unsqueeze exp sqrt rsqrt log tanh sigmoid relu erf pow abs
    size permute expand expand_as repeat_interleave chunk split amax unbind view_as type_as float half bfloat16 tril
    triu gather index_select matmul bmm norm numel contiguous new_zeros new_ones
    """.split()  # noqa: SIM905
)
_KEYWORDS_OF_TORCH = frozenset({"dim", "keepdim"})
_ANNOTATIONS = (
    ("torch", re.compile(r"\btorch\.(\w*Tensor)\b|(?<![\w.])(Float|Long|Bool)?Tensor\b")),
    ("jax", re.compile(r"\b(jax|jnp|jax\.numpy)\.(Array|ndarray)\b")),
    ("tensorflow", re.compile(r"\b(tf|tensorflow)\.Tensor\b")),
    ("mlx", re.compile(r"\bmx\.array\b")),
    ("tinygrad", re.compile(r"\btinygrad\.Tensor\b")),
)


def frameworks_named(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the frameworks that a function uses, NumPy last, or the one that its text speaks of if it uses none."""
    used = frameworks_used(function)
    # The names in a text are those of where it was written, whatever the function is wrapped in.
    written = inspect.unwrap(function)
    if any(one != "numpy" for one in used) or not inspect.isfunction(written):
        return used
    found = _by_annotations(written) or _by_calls(written)
    return used if found is None else (found, *used)


def _by_annotations(function: Any) -> str | None:
    said = [one for one in function.__annotations__.values() if isinstance(one, str)]
    # A file may have a class Tensor of its own.
    said = [one for one in said if one.strip("'\"") not in function.__globals__]
    return next((name for name, form in _ANNOTATIONS if any(form.search(one) for one in said)), None)


def _by_calls(function: Any) -> str | None:
    own = {name for one in function.__globals__.values() if isinstance(one, type) for name in vars(one)}
    calls = list(_calls_of_values(function))
    if any(one in ("set", "add") and _is_at(call) for one, call in calls):
        return "jax"
    of_torch = any(
        one not in own and (one in _OF_TORCH or _KEYWORDS_OF_TORCH & {word.arg for word in call.keywords})
        for one, call in calls
    )
    return "torch" if of_torch else None


def _calls_of_values(function: Any) -> Iterator[tuple[str, ast.Call]]:
    """Yield the methods that are called of what a function computes, not of modules, with the calls."""
    for node in ast.walk(tree_of(function) or ast.Module([], [])):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            root = _root(node.func.value)
            if root is None or (root.id not in function.__globals__ and root.id not in ("self", "cls")):
                yield node.func.attr, node


def _root(node: ast.expr) -> ast.Name | None:
    """Return the name with which an expression begins; None where it begins with another one."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def _is_at(call: ast.Call) -> bool:
    """Return whether a call is `x.at[place].set(value)`."""
    place = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(place, ast.Subscript) and isinstance(place.value, ast.Attribute) and place.value.attr == "at"
