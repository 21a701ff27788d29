"""What makes up for what: weights in another order, a scale in the weights, positions that begin elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.arrangements import Relation, relation
from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.items import Choice, Item, PortPart, Weight
from veriformer.conformance_tests.recognition.agreement import agree

_OF_HEADS = ("query weight", "query bias", "key weight", "key bias", "value weight", "value bias", "output weight")


def marked(found: list[Finding], first: PortPart, second: PortPart) -> list[Finding]:
    """Return what differs between two parts, with what something else makes up for marked, and nothing said twice."""
    found = _without_order_of_pairs(found)
    found = _with_heads_permuted_alike(found, first)
    found = _with_columns_dealt_out(found)
    found = _with_scale_in_weights(found, first, second)
    found = _with_positions_moved(found)
    found = _with_rows_left_out(found, first, second)
    found = [
        replace(one, harmless="what is merged or folded is rounded so", is_layout=True) if one.is_stored else one
        for one in found
    ]
    return [
        replace(one, harmless="the rows that only one of them has are not used", is_layout=True)
        if one.relation is not None and one.relation.name in ("longer", "shorter")
        else one
        for one in found
    ]


def _without_order_of_pairs(found: list[Finding]) -> list[Finding]:
    """Leave out what an other pairing of rotary embeddings says twice, and mark it where the weights go with it."""
    kept = []
    by_key = {one.key: one for one in found}
    for one in found:
        role, _, rest = one.key.partition(" ")
        turned = by_key.get(f"{role} rotation")
        if rest in ("weight", "bias") and turned is not None and _pairings_differ(turned) and _is_rotary(one):
            # The numbers stand where they stood in the first model, which pairs them otherwise.
            continue
        if (
            rest == "rotation"
            and _pairings_differ(one)
            and not any(_is_rotary(by_key[key]) for key in (f"{role} weight", f"{role} bias") if key in by_key)
        ):
            words = "its weights are in the order of its own pairs"
            only = _only_pairings_differ(one)
            kept.append(replace(one, harmless=words, is_layout=True) if only else replace(one, pairs_moved=True))
            continue
        kept.append(one)
    return kept


def _is_rotary(one: Finding) -> bool:
    return one.relation is not None and one.relation.name == "rotary order"


def _values(one: Finding) -> tuple[tuple[object, ...], tuple[object, ...]] | None:
    first, second = one.first, one.second
    if not isinstance(first, Choice) or not isinstance(second, Choice):
        return None
    if not isinstance(first.value, tuple) or not isinstance(second.value, tuple):
        return None
    return first.value, second.value


def _pairings_differ(one: Finding) -> bool:
    values = _values(one)
    return values is not None and values[0][:1] != values[1][:1]


def _only_pairings_differ(one: Finding) -> bool:
    values = _values(one)
    return values is not None and values[0][1:] == values[1][1:]


def _with_positions_moved(found: list[Finding]) -> list[Finding]:
    """Mark rotations whose positions begin elsewhere in queries and keys alike: only their difference matters."""
    moved = [one for one in found if one.key in ("query rotation", "key rotation")]
    values = [_values(one) for one in moved]
    if len(moved) != 2 or any(pair is None or pair[0][:3] != pair[1][:3] for pair in values):
        return found
    starts = {pair[1][3:] for pair in values if pair is not None}
    ends = {pair[0][3:] for pair in values if pair is not None}
    if len(starts) > 1 or len(ends) > 1:
        return found
    words = "queries and keys are turned alike, and only the difference of their positions matters"
    return [replace(one, harmless=words) if one in moved else one for one in found]


def _with_rows_left_out(found: list[Finding], first: PortPart, second: PortPart) -> list[Finding]:
    """Mark a table of positions without the rows before the first one that is read: position p gets the same row."""
    found = _with_rows_counted_on(found)
    read = [_rows_from_start(part) for part in (first, second)]
    if read[0] is None or read[1] is None:
        return found
    rows = min(map(len, (read[0], read[1])))
    if not rows or not agree(read[1][:rows], read[0][:rows]):
        return found
    words = "each position gets the same row, and the rows before are not used"
    moved = [one for one in found if one.key in ("positions", "positions table")]
    return [replace(one, harmless=words, is_layout=True) if one in moved else one for one in found]


def _with_rows_counted_on(found: list[Finding]) -> list[Finding]:
    """Mark tables without their first rows of which all tokens get as much earlier ones."""
    by_key = {one.key: one for one in found}
    words = "each token gets the same row, and the rows before are not used"
    marked = []
    for key, one in by_key.items():
        rows = by_key.get(f"rows of {key}")
        if one.relation is not None and one.relation.name == "rows from later" and rows is not None:
            begin = _begin_in(one)
            values = _values(rows)
            if values is not None and {a - b for a, b in zip(*values, strict=False)} == {begin}:  # type: ignore[operator]
                marked += [one, rows]
    return [replace(one, harmless=words, is_layout=True) if one in marked else one for one in found]


def _begin_in(one: Finding) -> int | None:
    """Return the row of the first table with which the second one begins."""
    first, second = (getattr(item, "array", None) for item in (one.first, one.second))
    if first is None or second is None:
        return None
    starts = range(len(first) - len(second) + 1)
    return next((at for at in starts if agree(second, first[at : at + len(second)])), None)


def _rows_from_start(part: PortPart) -> Array | None:
    """Return the rows of a learned table of positions from the first one on that is read; None without one."""
    positions, table = part.by_key("positions"), part.by_key("positions table")
    if not isinstance(positions, Choice) or not isinstance(positions.value, tuple) or not isinstance(table, Weight):
        return None
    start = positions.value[2]
    return None if table.array is None or not isinstance(start, int) else table.array[start:]


def _with_heads_permuted_alike(found: list[Finding], first: PortPart) -> list[Finding]:
    """Mark heads that are permuted in all weights of an attention alike."""
    by_key = {one.key: one for one in found}
    weights = [item for item in first.weights() if item.key in _OF_HEADS and item.array is not None]
    groups = {item.array.shape[item.heads or 0] for item in weights if item.array is not None}
    orders = [by_key[item.key].relation for item in weights if item.key in by_key]
    names = {one.name for one in orders if one is not None}
    permuted = {one.order for one in orders if one is not None}
    if len(groups) != 1 or len(orders) < len(weights) or names != {"heads permuted"} or len(permuted) != 1:
        return found
    words = "the heads are in another order in all weights alike"
    return [replace(one, harmless=words) if one.key in _OF_HEADS else one for one in found]


_TOLD = ("transposed", "reshaped", "heads permuted", "rotary order", "component major", "scaled")


def _with_columns_dealt_out(found: list[Finding]) -> list[Finding]:
    """Say of a fused projection that its columns went to queries, keys and values in another way."""
    for kind in ("weight", "bias"):
        own = [one for one in found if one.key in (f"query {kind}", f"key {kind}", f"value {kind}")]
        relations = [one.relation for one in own if one.relation is not None]
        if len(own) < 2 or any(one.elsewhere is not None for one in own) or any(one.name in _TOLD for one in relations):
            continue
        columns = [_columns_of([getattr(one, side) for one in own], kind) for side in ("first", "second")]
        if columns[0] is None or columns[1] is None or columns[0].shape != columns[1].shape:
            continue
        if relation(columns[0].T, columns[1].T).name == "permuted":
            told = Relation(
                "fused_qkv_layout", "made of A's columns, dealt out to queries, keys and values in another way"
            )
            found = [replace(one, relation=told) if one in own else one for one in found]
    return found


def _columns_of(weights: Sequence[Item | None], kind: str) -> Array | None:
    """Return several projections side by side, (E, columns); None where one of them is not known."""
    arrays = [weight.array for weight in weights if isinstance(weight, Weight) and weight.array is not None]
    if len(arrays) < len(weights):
        return None
    flat = [array.reshape(1 if kind == "bias" else len(array), -1) for array in arrays]
    return np.concatenate(flat, axis=1) if len({len(one) for one in flat}) == 1 else None


def _with_scale_in_weights(found: list[Finding], first: PortPart, second: PortPart) -> list[Finding]:
    """Mark factors of queries and keys that the scale of the logits takes back."""
    by_key = {one.key: one for one in found}
    factor = 1.0
    concerned = []
    for role in ("query", "key"):
        own = [by_key[key] for key in (f"{role} weight", f"{role} bias") if key in by_key]
        factors = {one.relation.factor for one in own if one.relation is not None and one.relation.name == "scaled"}
        if own and len(factors) == 1 and all(one.relation is not None and one.relation.name == "scaled" for one in own):
            factor *= next(iter(factors))
            concerned += own
    scales = [part.by_key("scale") for part in (first, second)]
    values = [float(one.value) for one in scales if isinstance(one, Choice) and isinstance(one.value, float)]
    if not concerned or len(values) != 2 or abs(factor * values[1] / values[0] - 1.0) > 1e-4:
        return found
    marked = [*concerned, *(by_key[key] for key in ("scale",) if key in by_key)]
    words = "the scale of the logits stands in the weights of queries and keys"
    return [replace(one, harmless=words) if one in marked else one for one in found]
