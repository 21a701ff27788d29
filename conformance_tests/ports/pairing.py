"""What differs between two parts that belong together: choices, weights, and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.arrangements import Relation, relation
from veriformer.conformance_tests.ports.items import Choice, Cut, Item, PortPart, Weight
from veriformer.conformance_tests.recognition.agreement import agree, distance

_MOST_AXES, _MOST_ROWS = 5, 512
TIGHT = 1e-10
"""Two programs that do the same in float64 differ by less, as a part of the largest entry."""


# What may differ so little that only float64 shows it.
_FINE = ("eps", "eps place", "scale", "factor", "embedding factor", "softcap", "activation", "base", "positions")
_OF_STRUCTURE = ("norm before", "norm on_output", "norm after", "residual", "parallel", "merge", "final norm")
_FINE_RELATIONS = ("rounded", "scaled", "in part")


@dataclass(frozen=True, eq=False)
class Finding:
    """One thing that differs between two parts; an item is None where a model does not have it.

    `relation` is about weights. `harmless` says that something else in the part makes up for it; `is_layout` that
    nothing but the order of numbers in memory is meant. `elsewhere` is the weight of the first model that the second
    one has here. `cut_otherwise` says that the matrix is the same, and its columns or rows are taken in another order.
    """

    first: Item | None
    second: Item | None
    relation: Relation | None = None
    elsewhere: Weight | None = None
    harmless: str = ""
    is_layout: bool = False
    cut_otherwise: bool = False
    pairs_moved: bool = False
    """Of a rotation: the weights are in the order of other pairs, which are no difference then."""

    @property
    def item(self) -> Item:
        """The item of the second model, of the first where it has none."""
        found = self.second or self.first
        assert found is not None
        return found

    @property
    def key(self) -> str:
        """What differs."""
        return self.item.key

    @property
    def is_fine(self) -> bool:
        """Whether it may have so small an effect that rounding to single precision hides it."""
        if self.relation is not None:
            return self.relation.name in _FINE_RELATIONS
        return self.key in _FINE or self.key.rpartition(": ")[2] in _FINE or self.key.partition(" ")[2] in _FINE

    @property
    def is_structure(self) -> bool:
        """Whether it is about norms and residuals, which a mistake of another name may have in another place."""
        return self.key in _OF_STRUCTURE

    @property
    def may_be_misread(self) -> bool:
        """Whether it says nothing where all values of the part are the same: one of the models was read otherwise."""
        if self.harmless:
            return False
        if self.relation is not None:
            return self.relation.name in ("missing", "additional")
        return not self.is_fine


def findings_of(first: PortPart, second: PortPart, every: Sequence[Weight]) -> list[Finding]:
    """Return what differs between two parts, in the order in which it happens; `every` are the first model's weights.

    Values are left out: they differ behind whatever differs.
    """
    found = [one for pair in _side_by_side(first, second) if (one := _differing(*pair, every)) is not None]
    found = _without_what_is_not_known(found, first, second)
    return _without_what_is_made_up_for(found, first, second)


def _side_by_side(first: PortPart, second: PortPart) -> Iterator[tuple[Item | None, Item | None]]:
    """Yield the items of two parts in pairs, in the order of the first."""
    others = {item.key: item for item in second.items}
    own = {item.key for item in first.items}
    waiting = [item for item in second.items if item.key not in own]
    for item in first.items:
        yield item, others.get(item.key)
    yield from ((None, item) for item in waiting)


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
        # A choice says that one of them has no such norm, table or branch.
        return None
    one, other = _filled(first.array, second), _filled(second.array, first)
    if one is None or other is None or (first.heads is None) != (second.heads is None):
        # A matrix whose axes, or whose heads, are not known.
        return None
    found = relation(one, other, first.heads, first.component)
    if found.is_same:
        return None
    if second.array is None:
        found = Relation("missing", "missing")
    elif first.array is None:
        found = Relation("additional", "there, and the first model has none")
    is_row = first.key.startswith("row for all")
    if (is_row or found.name in _IN_ANOTHER_ORDER) and _stored_alike(first, second):
        return Finding(first, second, found, cut_otherwise=True)
    elsewhere = None
    if found.name in ("other numbers", "other shape", "permuted", "in part"):
        elsewhere = _elsewhere(other, every)
    return Finding(first, second, found, elsewhere)


_IN_ANOTHER_ORDER = ("heads permuted", "component major", "rotary order", "components permuted", "permuted")


def _stored_alike(first: Weight, second: Weight) -> bool:
    """Return whether the whole matrices are the same, of which the two models take the columns otherwise."""
    if first.stored is None or second.stored is None or first.stored.shape != second.stored.shape:
        return False
    return agree(second.stored, first.stored)


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
        if any(agree(flat, way) for way in ways):
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


# --- what makes up for what -------------------------------------------------------------------------------------------

_OF_HEADS = ("query weight", "query bias", "key weight", "key bias", "value weight", "value bias", "output weight")


def _without_what_is_made_up_for(found: list[Finding], first: PortPart, second: PortPart) -> list[Finding]:
    found = _without_order_of_pairs(found)
    found = _with_heads_permuted_alike(found, first)
    found = _with_columns_dealt_out(found)
    found = _with_scale_in_weights(found, first, second)
    found = _with_positions_moved(found)
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


# --- values -----------------------------------------------------------------------------------------------------------


def cuts_of(first: PortPart, second: PortPart) -> Iterator[tuple[Cut, Cut]]:
    """Yield the values that both parts have, in order."""
    for item in first.items:
        other = second.by_key(item.key)
        if isinstance(item, Cut) and isinstance(other, Cut):
            yield item, other


def last_cut(part: PortPart) -> Cut | None:
    """Return the last value of a part."""
    return next((item for item in reversed(part.items) if isinstance(item, Cut)), None)


def apart(first: Array, second: Array, heads: int | None = None) -> float:
    """Return the largest difference of two values as a part of the largest entry, whatever their leading axes are.

    Heads in another order are the same, as are samples and positions that were exchanged; infinite for other sizes.
    """
    if first.size != second.size:
        return float("inf")
    if heads is not None:
        if first.shape != second.shape:
            return float("inf")
        order = _heads_in_order(first, second, heads)
        return min(distance(second, first), distance(np.take(second, order, axis=heads), first))
    nearest = float("inf")
    for way in ways(first, second):
        nearest = min(nearest, distance(way, first))
        if nearest <= TIGHT:
            break
    return nearest


def ways(first: Array, second: Array) -> Iterator[Array]:
    """Yield the ways to lay a value out as another: as it is, and with its axes exchanged, its components last."""
    yield second.reshape(first.shape)
    yield from _rows_exchanged(first, second)
    squeezed = second.squeeze()
    if squeezed.ndim > _MOST_AXES or first.ndim == 0:
        return
    for axes in permutations(range(squeezed.ndim)):
        if axes != tuple(range(squeezed.ndim)) and squeezed.shape[axes[-1]] == first.shape[-1]:
            yield squeezed.transpose(axes).reshape(first.shape)


def _rows_exchanged(first: Array, second: Array) -> Iterator[Array]:
    """Yield the second value with samples and positions exchanged, which may be in one axis."""
    width = first.shape[-1] if first.ndim else 0
    rows = first.size // max(width, 1)
    if second.ndim < 2 or second.shape[-1] != width or rows > _MOST_ROWS:
        return
    for batch in range(2, rows):
        if rows % batch == 0:
            yield second.reshape(batch, rows // batch, width).swapaxes(0, 1).reshape(first.shape)


def _heads_in_order(first: Array, second: Array, axis: int) -> list[int]:
    """Return the order of the second's heads that is nearest to the first's."""
    one, other = (np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1) for array in (first, second))
    left = list(range(len(other)))
    order = []
    for head in one:
        nearest = min(left, key=lambda place: float(np.abs(other[place] - head).max()))
        order.append(nearest)
        left.remove(nearest)
    return order
