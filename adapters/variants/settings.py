"""Calling an operation while a setting of its library is in force."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any


def within(setting: Callable[[], AbstractContextManager[Any]], operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operation with the same signature, each call of it inside a new `setting()`."""

    @wraps(operation)
    def inside(*positional: Any, **keywords: Any) -> Any:
        with setting():
            return operation(*positional, **keywords)

    return inside
