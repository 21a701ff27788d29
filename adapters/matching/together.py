"""Several arrays of the interface in one parameter: `qkv`, `kv`, and the parts that are merged, `outs` and `lses`.

The one array is made of those that a layout would hand over: beside each other in the last axis, each head's by itself,
or along an axis of their own. Parts that are merged may be a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from veriformer.adapters.matching.forms import Form, Source
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.merged import OPERATION as MERGING
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
_THREE_PARTS = re.compile(r"(split|chunk|reshape|view|unflatten|rearrange)\([^()]*\b3\b|(//|\*|/) *3\b|\b3 *\*")
_MERGED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        "outs outputs outlist partialouts partialoutputs partouts os attnouts chunkouts".split(),  # noqa: SIM905
        ("output_a", "output_b"),
    ),
    **dict.fromkeys(
        "lses lselist logsumexps partiallses partlses lse logsumexp chunklses".split(),  # noqa: SIM905
        ("lse_a", "lse_b"),
    ),
}
Making = Callable[[Sequence[Any], Arguments], Any]


def is_packed(name: str) -> bool:
    """Return whether a parameter is called as several arrays in one are."""
    return folded(name) in _NAMES


def with_packed(operation: str, found: Taken, source: str) -> Taken | None:
    """Return what a function takes with the parameters that are several arrays each; None where none is.

    `found` is by names alone: in their order, other parameters would be some of these arrays.
    """
    together = _of_parts(found) if operation == MERGING else _packed_in(found, source)
    if not together:
        return None
    inside = {part for parts in together.values() for part in parts}
    missing = tuple(one for one in found.missing if one not in inside)
    roles = {one: role for one, role in found.roles.items() if one not in together}
    return replace(found, roles=roles, missing=missing, together=together)


def forms(form: Form, found: Taken) -> Iterator[Form]:
    """Yield the forms in which such parameters are made of the arrays that a layout hands over, in each order."""
    makings = _OF_PARTS if form.operation == MERGING else _MAKINGS
    for words, making in makings.items() if found.together else ():
        made = {name: _made_by(making, parts) for name, parts in found.together.items()}
        said = (f"`{name}`: {', '.join(parts)} {words}" for name, parts in found.together.items())
        yield replace(form, sources={**form.sources, **made}, words=(*form.words, *said))


def _of_parts(found: Taken) -> dict[str, tuple[str, ...]]:
    """Return the parameters that are outputs and log-sum-exps of all parts; none where one of the two is missing."""
    together = {name: _MERGED[folded(name)] for name in found.needed if folded(name) in _MERGED}
    return together if {*together.values()} == {*_MERGED.values()} and len(together) == len(found.needed) else {}


def _packed_in(found: Taken, source: str) -> dict[str, tuple[str, ...]]:
    for name, parts in _NAMES.items():
        its = next((one for one in found.needed if folded(one) == name), None)
        if its is not None and _are_missing(found, its, parts):
            return {its: parts}
    plain = next((one for one in found.needed if folded(one) in _PLAIN), None)
    if plain is not None and _are_missing(found, plain, _ALL) and _THREE_PARTS.search(source):
        return {plain: _ALL}
    return {}


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


def _listed(arrays: Sequence[Any], _: Arguments) -> Any:
    return list(arrays)


_OF_PARTS: Mapping[str, Making] = {"in a list": _listed, "along the first axis": _along(0)}
_MAKINGS: Mapping[str, Making] = {
    "beside each other": _beside,
    "along an axis before the heads": _along(2),
    "along the first axis": _along(0),
    "along the second axis": _along(1),
    "of each head beside each other": _by_head,
}
