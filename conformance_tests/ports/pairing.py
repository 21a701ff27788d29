"""What differs between two parts that belong together: choices and weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.arrangements import Relation, is_finer, relation
from veriformer.conformance_tests.ports.compensation import marked
from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.items import Choice, Item, PortPart, Weight
from veriformer.conformance_tests.recognition.agreement import agree

_TABLE = re.compile(r"table \d+")


def findings_of(first: PortPart, second: PortPart, every: Sequence[Weight]) -> list[Finding]:
    """Return what differs between two parts, in the order in which it happens; `every` are the first model's weights.

    Values are left out: they differ behind whatever differs.
    """
    found = [one for pair in _side_by_side(first, second) if (one := _differing(*pair, every)) is not None]
    if any(_TABLE.fullmatch(one.key) and None in (one.first, one.second) for one in found):
        found = [one for one in found if one.key != "tables"]
    found = _without_what_is_not_known(found, first, second)
    return marked(found, first, second)


def _side_by_side(first: PortPart, second: PortPart) -> Iterator[tuple[Item | None, Item | None]]:
    """Yield the items of two parts in pairs, in the order of the first."""
    names = _names_of_tables(first, second)
    renamed = [replace(item, key=_with_own_table(item.key, names)) for item in second.items]
    others = {item.key: item for item in renamed}
    own = {item.key for item in first.items}
    waiting = [item for item in renamed if item.key not in own]
    for item in first.items:
        yield item, others.get(item.key)
    yield from ((None, item) for item in waiting)


def _names_of_tables(first: PortPart, second: PortPart) -> dict[str, str]:
    """Return how tables of the second part are called in the first, where one of them has more tables."""
    tables = [[one for one in part.weights() if _TABLE.fullmatch(one.key)] for part in (first, second)]
    if len(tables[0]) == len(tables[1]):
        return {}
    left = list(tables[0])
    names: dict[str, str] = {}
    for one in tables[1]:
        same = next((other for other in left if _have_equal_numbers(one, other)), None)
        if same is not None:
            left.remove(same)
        names[one.key] = f"table {len(tables[0]) + len(names)}" if same is None else same.key
    return names


def _have_equal_numbers(one: Weight, other: Weight) -> bool:
    return one.array is not None and other.array is not None and agree(one.array, other.array)


def _with_own_table(key: str, names: dict[str, str]) -> str:
    found = _TABLE.search(key)
    return key if found is None else key.replace(found.group(), names.get(found.group(), found.group()))


def _differing(first: Item | None, second: Item | None, every: Sequence[Weight]) -> Finding | None:
    if isinstance(first, Weight) or isinstance(second, Weight):
        return _of_weights(first, second, every)
    if isinstance(first, Choice) and isinstance(second, Choice) and first.value != second.value:
        if first.key.endswith(" understood"):
            return None
        return Finding(first, second)
    return None


def _of_weights(first: Item | None, second: Item | None, every: Sequence[Weight]) -> Finding | None:
    if not isinstance(first, Weight) or not isinstance(second, Weight):
        alone = first or second
        if alone is not None and _TABLE.fullmatch(alone.key):
            name = "missing" if second is None else "additional"
            return Finding(first, second, Relation(name, name))
        # A choice says that one of them has no such norm, table or branch.
        return None
    one, other = _filled(first.array, second), _filled(second.array, first)
    if one is None or other is None or not are_comparable(first, second):
        return None
    found = relation(one, other, first.heads, first.component, first.axes)
    if found.is_same:
        return None
    if second.array is None:
        found = Relation("missing", "missing")
    elif first.array is None:
        found = Relation("additional", "there, and the first model has none")
    is_row = first.key.startswith("row for all")
    if (is_row or found.name in _TAKEN_OTHERWISE) and _stored_alike(first, second):
        return Finding(first, second, found, cut_otherwise=True)
    elsewhere = None
    if found.name in ("other numbers", "other shape", "permuted", "in part"):
        elsewhere = _elsewhere(other, every)
    return Finding(first, second, found, elsewhere)


_TAKEN_OTHERWISE = (
    "heads permuted",
    "component major",
    "rotary order",
    "components permuted",
    "axes permuted",
    "permuted",
    "scaled",
)


def _stored_alike(first: Weight, second: Weight) -> bool:
    """Return whether the whole matrices are the same, of which the two models take the columns otherwise."""
    if first.stored is None or second.stored is None or first.stored.shape != second.stored.shape:
        return False
    return agree(second.stored, first.stored)


def are_comparable(first: Weight, second: Item | None) -> bool:
    """Return whether a weight can be compared with what the second model has: axes and heads of both are known."""
    if not isinstance(second, Weight) or (first.heads is None) != (second.heads is None):
        return False
    return all(weight.array is not None or weight.neutral is not None for weight in (first, second))


def _filled(array: Array | None, like: Weight) -> Array | None:
    """Return an array, or one of neutral numbers like the other weight where there is none."""
    if array is not None or like.array is None or like.neutral is None:
        return array
    return np.full(like.array.shape, like.neutral)


def _elsewhere(array: Array, every: Sequence[Weight]) -> Weight | None:
    """Return the weight of the first model that has these numbers."""
    flat = array.reshape(array.shape[0], -1) if array.ndim > 1 else array
    if _is_constant(flat):
        return None
    for weight in every:
        if weight.array is None or weight.array.size != array.size:
            continue
        ways = [weight.array.reshape(flat.shape)]
        # A table that is used as the last matrix too is its transpose.
        ways += [weight.array.T] if weight.array.T.shape == flat.shape else []
        if any(agree(flat, way) or is_finer(way, flat) for way in ways):
            return weight
    return None


def _is_constant(array: Array) -> bool:
    return array.size == 0 or bool((array == array.flat[0]).all())


def _without_what_is_not_known(found: list[Finding], first: PortPart, second: PortPart) -> list[Finding]:
    """Leave out what was read behind a step that was not understood in one of the two."""
    unknown = [
        role
        for role in ("query", "key")
        for part in (first, second)
        if isinstance(item := part.by_key(f"{role} understood"), Choice) and not item.value
    ]
    return [one for one in found if one.key != "scale"] if unknown else found
