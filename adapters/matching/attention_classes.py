"""Classes without weights that are called with queries, keys and values, as functions of these."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.capture.guessed_sizes import WIDTH, size_called
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.namespaces import shape_of
from veriformer.adapters.matching.wired import roles_of

OPERATIONS_OF = frozenset(("scaled_dot_product_attention", "multi_head_attention", "grouped_query_attention"))
"""What such classes are called after."""
_ROLES = {"query": "q query queries xq", "key": "k key keys xk", "value": "v value values xv"}
_ROOTS = frozenset(("temperature", "temp", "scalefactor"))
_SCALES = frozenset(("scale", "smscale", "softmaxscale", "scaling", "normfact"))
_DROPOUTS = frozenset(
    ("dropout", "attndropout", "attentiondropout", "dropoutp", "dropoutrate", "p", "drop", "attnpdrop")
)
_HEAD_WIDTH = size_called("head_dim")
_TRIED_WIDTH = 4


def attention_of_class(kind: type, arrays: ArrayFramework) -> Callable[..., Any] | None:
    """Return a class as a function of what its call takes, built for the width of each call; None where it is none.

    It has no weights of its own, and is called with queries, keys and values.
    """
    made = _built(kind, _TRIED_WIDTH)
    call = _call_of(made)
    parameters = [] if call is None else list(inspect.signature(call).parameters.values())
    roles = roles_of(_ROLES, [one.name for one in parameters])
    if len(roles) < len(_ROLES) or _has_weights(made, arrays):
        return None
    query = [one.name for one in parameters].index(roles["query"])

    def attention(*positional: Any, **given: Any) -> Any:
        first = positional[query] if query < len(positional) else given[roles["query"]]
        made = _built(kind, int(shape_of(first)[-1]))
        return (made if callable(made) else made.forward)(*positional, **given)

    attention.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    attention.__name__, attention.__doc__, attention.__module__ = kind.__name__, kind.__doc__, kind.__module__
    # Its text is that of the class.
    attention.__wrapped__ = kind  # type: ignore[attr-defined]
    return attention


def _built(kind: type, width: int) -> Any:
    """Return an object of a class for heads of a width, without dropout; TypeError where nothing tells a size."""
    given = {}
    for name, one in inspect.signature(kind).parameters.items():
        is_required = one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        value = _argument(name, width)
        if is_required or folded(name) in _DROPOUTS:
            if value is None:
                raise TypeError(f"nothing tells what to build it with as {name}")
            given[name] = value
    made = kind(**given)
    evaluate = getattr(made, "eval", None)
    return evaluate() or made if callable(evaluate) else made


def _argument(name: str, width: int) -> Any:
    if folded(name) in _ROOTS:
        return width**0.5
    if folded(name) in _SCALES:
        return width**-0.5
    if folded(name) in _DROPOUTS:
        return 0.0
    return width if size_called(name) in (WIDTH, _HEAD_WIDTH) else None


def _call_of(made: Any) -> Callable[..., Any] | None:
    names = ("forward", "call", "__call__")
    return next((method for name in names if callable(method := getattr(made, name, None))), None)


def _has_weights(made: Any, arrays: ArrayFramework) -> bool:
    """Return whether an object holds arrays of its own."""
    if hasattr(made, "named_parameters"):
        return bool(list(made.named_parameters()))
    return any(arrays.is_array(one) and shape_of(one) for one in getattr(made, "__dict__", {}).values())
