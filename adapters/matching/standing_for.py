"""A function that stands for another one, with a name and parameters of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from typing import Any


def standing_for(
    function: Callable[..., Any], made: Callable[..., Any], name: str, signature: inspect.Signature, **attributes: Any
) -> Callable[..., Any]:
    """Return `made` with the documentation, the module and the source of a function, and further attributes."""
    update_wrapper(made, function)
    vars(made).update({**attributes, "__signature__": signature})
    made.__name__ = made.__qualname__ = name
    return made
