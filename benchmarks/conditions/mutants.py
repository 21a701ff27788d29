"""Correct implementations, watched or made wrong: the plain NumPy reference behind an ordinary object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.adapters import numpy as built_in

from conditions.call import Call, Condition

Seen = Callable[[Call, Any], Any]

_TABLE = np.random.default_rng(0).standard_normal((11, 6))
_PLACES = np.random.default_rng(1).standard_normal((16, 6))


def model(inputs: np.ndarray, *, padding_mask: np.ndarray | None = None) -> np.ndarray:
    """A causal model of sequences: one head of attention over embedded tokens with learned positions."""
    x = (_TABLE[inputs] + _PLACES[: inputs.shape[1]])[:, None]
    mask = None if padding_mask is None else padding_mask[:, None, None, :]
    return (x + reference.scaled_dot_product_attention(x, x, x, mask=mask, is_causal=True))[:, 0].astype(np.float32)


BLACK_BOX = {"model_inputs": {"vocabulary_size": 11, "max_length": 16}, "model_properties": ("causal",)}


def implementation(operation: str, seen: Seen) -> SimpleNamespace:
    """Return an implementation of one operation, each result of which passes through `seen` with its call."""
    right = model if operation == "model" else getattr(built_in, operation)
    parameters = inspect.signature(right)
    number, before = 0, None

    @wraps(right)
    def called(*positional: Any, **named: Any) -> Any:
        nonlocal number, before
        number += 1
        bound = parameters.bind(*positional, **named)
        bound.apply_defaults()
        call = Call(operation, dict(bound.arguments), number, before)
        result = seen(call, right(*positional, **named))
        before = replace(call, before=None)
        return result

    declared = {"framework": "numpy", "dtypes": ("float32", "float64"), "conventions": built_in.conventions}
    black_box = {"dtypes": ("float32",), **BLACK_BOX} if operation == "model" else {}
    return SimpleNamespace(**{**declared, **black_box, operation: called})


def mutant(condition: Condition) -> SimpleNamespace:
    """Return an implementation that is wrong where the condition holds, and nowhere else."""
    return implementation(condition.operation, lambda call, result: wrong(result) if condition.holds(call) else result)


def wrong(result: Any) -> Any:
    """Return a result of the same shape that nobody takes for the right one: every entry is another."""
    if isinstance(result, tuple | list):
        return type(result)(wrong(item) for item in result)
    if isinstance(result, float):
        return 1.5 * result + 0.5
    if isinstance(result, SimpleNamespace):
        return SimpleNamespace(**{name: wrong(member) for name, member in vars(result).items()})
    if is_dataclass(result) and not isinstance(result, type):
        return replace(result, **{field.name: wrong(getattr(result, field.name)) for field in fields(result)})
    if not isinstance(result, np.ndarray | np.generic):
        return result
    array = np.asarray(result)
    if array.dtype == bool:
        return ~array
    if array.dtype.kind == "i":
        return array + 1
    largest = np.max(np.abs(array), initial=0.0, where=np.isfinite(array))
    return (array + array.dtype.type(0.5 + 0.5 * largest)).astype(array.dtype)
