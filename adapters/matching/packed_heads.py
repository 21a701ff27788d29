"""Attention that takes queries, keys and values as one array, or keys and values as one (`qkv`, `kv`).

The one array is made of those that a layout would hand over: beside each other in the last axis, each head's by itself,
or along an axis of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from veriformer.adapters.matching.forms import Form, Source
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.namespaces import joined, reshaped, shape_of
from veriformer.adapters.matching.sources import Taken

_ALL, _OF_KEYS = ("query", "key", "value"), ("key", "value")
_NAMES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys("qkv packedqkv qkvpacked mixedqkv fusedqkv qkvs xqkv qkvproj".split(), _ALL),  # noqa: SIM905
    **dict.fromkeys("kv packedkv kvpacked mixedkv fusedkv kvs kvproj".split(), _OF_KEYS),  # noqa: SIM905
}
# Such an array is often called by a plain name, where the source takes three parts of it.
_PLAIN = ("inp", "x", "inputs", "input", "h", "hidden", "projected", "proj")
_THREE_PARTS = re.compile(r"split\([^()]*\b3\b|chunk\([^()]*\b3\b|(//|\*|,|/) *3\b|\b3 *\*")
Making = Callable[[Sequence[Any], Arguments], Any]


def is_packed(name: str) -> bool:
    """Return whether a parameter is called as several arrays in one are."""
    return folded(name) in _NAMES


def with_packed(found: Taken, source: str) -> Taken | None:
    """Return what a function takes with the parameter that is all of the arrays, or keys and values; None without one.

    `found` is by names alone: in their order, other parameters would be keys and values.
    """
    packed = _packed_in(found, source)
    if packed is None:
        return None
    name, parts = packed
    missing = tuple(one for one in found.missing if one not in parts)
    roles = {one: role for one, role in found.roles.items() if one != name}
    return replace(found, roles=roles, missing=missing, together=(name, parts))


def forms(form: Form, found: Taken) -> Iterator[Form]:
    """Yield the forms in which such a parameter is made of the arrays that a layout hands over, in each order."""
    if found.together is None:
        return
    name, parts = found.together
    for words, making in _MAKINGS.items():
        sources = {**form.sources, name: _made_by(making, parts)}
        yield replace(form, sources=sources, words=(*form.words, f"`{name}`: {', '.join(parts)} {words}"))


def _packed_in(found: Taken, source: str) -> tuple[str, tuple[str, ...]] | None:
    for name, parts in _NAMES.items():
        its = next((one for one in found.needed if folded(one) == name), None)
        if its is not None and _are_missing(found, its, parts):
            return its, parts
    plain = next((one for one in found.needed if folded(one) in _PLAIN), None)
    if plain is not None and _are_missing(found, plain, _ALL) and _THREE_PARTS.search(source):
        return plain, _ALL
    return None


def _are_missing(found: Taken, name: str, parts: tuple[str, ...]) -> bool:
    """Return whether no other parameter is one of the arrays; the first of those left may be taken for this one."""
    others = {role for one, role in found.roles.items() if one != name}
    return others.isdisjoint(parts)


def _made_by(making: Making, parts: tuple[str, ...]) -> Source:
    return lambda arguments: making([arguments[one] for one in parts], arguments)


def _beside(arrays: Sequence[Any], _: Arguments) -> Any:
    return joined(arrays, len(shape_of(arrays[0])) - 1)


def _by_head(arrays: Sequence[Any], arguments: Arguments) -> Any:
    """Return each head's parts beside each other, in one axis of all heads."""
    *outer, numbers = shape_of(arrays[0])
    heads = int(arguments["num_heads"])
    apart = [reshaped(one, (*outer, heads, numbers // heads)) for one in arrays]
    return reshaped(joined(apart, len(outer) + 1), (*outer, len(arrays) * numbers))


def _along(axis: int) -> Making:
    def stacked(arrays: Sequence[Any], _: Arguments) -> Any:
        shape = shape_of(arrays[0])
        return joined([reshaped(one, (*shape[:axis], 1, *shape[axis:])) for one in arrays], axis)

    return stacked


_MAKINGS: Mapping[str, Making] = {
    "beside each other": _beside,
    "along an axis before the heads": _along(2),
    "along the first axis": _along(0),
    "along the second axis": _along(1),
    "of each head beside each other": _by_head,
}
