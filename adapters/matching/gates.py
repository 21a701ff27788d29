"""The gate of a gated network by itself, `swiglu(a, b) = silu(a) b`, as the network between matrices.

So the laws of the network judge it: it is given x W_gate and x W_up, and what it returns is multiplied by W_down.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from veriformer.adapters.matching.names import folded, parameters_of, words_of
from veriformer.adapters.matching.namespaces import joined, reshaped, shape_of
from veriformer.adapters.matching.standing_for import standing_for
from veriformer.adapters.matching.texts import source_of

OPERATION = "gated_feed_forward"
# The gate of `glu` itself is a sigmoid, which no network of the interface has.
_GATES = frozenset({"swiglu", "geglu", "reglu"})
_PRODUCT = re.compile(r"(silu|swish|gelu|relu)(mul|multiply|times|gate|gated)")
_MANNERS = frozenset(
    """
    fn func function forward apply act activation fused op kernel and my naive ref torch jax np numpy liger like triton
    """.split()  # noqa: SIM905
)
_SAID = "it is given x·{} and x·{}{together}, and its result is multiplied by w_down"
# What sets how a gate computes, and not which one it is.
_SETTINGS = frozenset({"dim", "axis", "approximate", "inplace", "dtype", "out"})
_ANOTHER = "its results fit no gate that is known, and it has settings that others lack, such as a limit or a slope"


def between_matrices(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a gate of one or two arrays as a gated network; any other function as it is.

    Where names do not say which array is the gate, either may be; where source takes every other number of one array,
    the two alternate in it.
    """
    takings = [] if isinstance(function, type) else parameters_of(function) or []
    required = [one.name for one in takings if not one.has_default]
    if not _is_gate(name) or len(required) not in (1, 2) or any(map(_is_of_weights, required)):
        return function
    alternate = "::2" in (source_of(function) or "")
    said = any(word in one.casefold() for one in required for word in ("gate", "up"))
    names = ("x", *(("w_gate", "w_up") if said and len(required) == 2 else ("w1", "w3")), "w_down")

    def network(*given: Any) -> Any:
        x, of_first, of_second, down = given
        first, second = x @ of_first, x @ of_second
        if len(required) == 2:
            return function(first, second) @ down
        return function(_beside(first, second, alternate=alternate)) @ down

    together = "" if len(required) == 2 else ", in turn" if alternate else ", one behind the other"
    has_settings = any(folded(one.name) not in _SETTINGS for one in takings if one.has_default)
    return standing_for(
        function,
        network,
        name,
        inspect.Signature([inspect.Parameter(one, inspect.Parameter.POSITIONAL_ONLY) for one in names]),
        is_of_gate=True,
        said=(_SAID.format(*names[1:3], together=together),),
        only_exact=_ANOTHER if has_settings else "",
    )


def _beside(first: Any, second: Any, *, alternate: bool) -> Any:
    """Return two arrays as one: one behind the other along the last axis, or their numbers in turn."""
    (*outer, width) = shape_of(first)
    if not alternate:
        return joined([first, second], len(outer))
    apart = joined([reshaped(one, (*outer, width, 1)) for one in (first, second)], len(outer) + 1)
    return reshaped(apart, (*outer, 2 * width))


def _is_of_weights(name: str) -> bool:
    return name == "self" or folded(name).startswith(("w", "param", "config", "cfg"))


def is_network(function: Callable[..., Any]) -> bool:
    """Return whether a function is a gate between matrices."""
    return bool(getattr(function, "is_of_gate", False))


def _is_gate(name: str) -> bool:
    bare = "".join(word for word in words_of(name) if word not in _MANNERS)
    return bare in _GATES or _PRODUCT.fullmatch(bare) is not None
