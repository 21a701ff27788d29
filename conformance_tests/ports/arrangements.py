"""How one array of weights comes from another: as it is, transposed, permuted, scaled, rounded, in part, not at all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import BFLOAT, HALF, SINGLE, agree, unit_of

_ROUNDED = (("float16", HALF), ("bfloat16", BFLOAT))
# A merged weight is a sum of products, each of which is rounded: to so many units of the largest entry in all.
_MERGED = 16.0
# Less than this of the entries is equal by chance, as zeros are.
_LEAST_SHARE = 0.05


@dataclass(frozen=True)
class Relation:
    """What an array is of another: a name, a sentence that goes on after "it is", and what it takes to mend it.

    `order` is the permutation of heads, `factor` the constant that it is multiplied by.
    """

    name: str
    words: str
    order: tuple[int, ...] = ()
    factor: float = 1.0

    @property
    def is_same(self) -> bool:
        """Whether the numbers are the same, each in its place."""
        return self.name == "same"


SAME = Relation("same", "the same")
OTHER = Relation("other numbers", "made of other numbers")
STORED = "stored"
"""The name of what is the same up to the rounding of float32, in which weights are merged, folded and stored."""


def relation(
    first: Array,
    second: Array,
    heads: int | None = None,
    component: int | None = None,
    axes: tuple[str, ...] = (),
) -> Relation:
    """Return what `second` is of `first`, the simplest that is true; `heads` is the axis that counts heads.

    `component` is the axis of the components of a head. `axes` are the names of first axes that may be exchanged.
    """
    if first.shape != second.shape and first.size == second.size:
        # Another number of heads is said where heads are counted.
        first, second = (_heads_joined(array, heads) for array in (first, second))
        heads = component = None
    if first.shape != second.shape:
        return _of_shapes(first, second)
    if agree(second, first) or is_finer(first, second):
        return SAME
    if axes and (exchanged := _axes_exchanged(first, second, axes)) is not None:
        return exchanged
    return next(_relations(first, second, heads, component), None) or _of_size(first, second)


def _of_size(first: Array, second: Array) -> Relation:
    """Return that numbers are others, and by how much."""
    with np.errstate(invalid="ignore"):
        largest, error = float(np.abs(first).max(initial=0.0)), float(np.abs(second - first).max(initial=0.0))
    if not (largest and np.isfinite(error)):
        return OTHER
    return replace(OTHER, words=f"{OTHER.words}, up to {error / largest:.1e} of the largest entry apart")


def is_finer(first: Array, second: Array) -> bool:
    """Return whether two arrays are the same but for the first model's rounding to single precision.

    Some models compute gains to which one is added so, in whatever precision they run.
    """
    if first.shape != second.shape or not unit_of(second) < unit_of(first) == SINGLE:
        return False
    return bool((np.abs(second - first) <= 2.0 * SINGLE * np.maximum(np.abs(first), np.abs(second))).all())


def _axes_exchanged(first: Array, second: Array, names: tuple[str, ...]) -> Relation | None:
    """Return in which order the numbers stand along the first axes, read as one; None where it is none of them."""
    others = tuple(range(len(names), first.ndim))
    for order in permutations(range(len(names))):
        if agree(second, first.transpose(*order, *others).reshape(first.shape)):
            words = f"the same with its {', '.join(names)} in the order {', '.join(names[axis] for axis in order)}"
            return Relation("axes permuted", words, order)
        if agree(second.transpose(*order, *others).reshape(first.shape), first):
            words = f"the same, with its {', '.join(names)} read as {', '.join(names[axis] for axis in order)}"
            return Relation("axes permuted", words, order)
    return None


def _heads_joined(array: Array, heads: int | None) -> Array:
    """Return an array with heads and their components in one axis."""
    if heads is None or array.ndim < heads + 2:
        return array.reshape(len(array), -1)
    return array.reshape(*array.shape[:heads], -1, *array.shape[heads + 2 :])


def _of_shapes(first: Array, second: Array) -> Relation:
    shapes = f"of shape {second.shape} in place of {first.shape}"
    if first.ndim == second.ndim == 2 and first.shape[1] == second.shape[1]:
        rows = min(len(first), len(second))
        if agree(second[:rows], first[:rows]):
            # Rows that no token needs may be added to a table.
            name = "longer" if len(second) > len(first) else "shorter"
            return Relation(name, f"its first {rows} rows, {shapes}")
        start = next(
            (at for at in range(1, len(first) - len(second) + 1) if agree(second, first[at:][: len(second)])), 0
        )
        if start:
            return Relation("rows from later", f"its rows from row {start} on, {shapes}")
    if first.ndim == second.ndim == 2 and first.shape[0] == second.shape[0]:
        columns = min(first.shape[1], second.shape[1])
        if agree(second[:, :columns], first[:, :columns]):
            name = "longer" if second.shape[1] > first.shape[1] else "shorter"
            return Relation(name, f"its first {columns} columns, {shapes}")
    return Relation("other shape", shapes)


def _relations(first: Array, second: Array, heads: int | None, component: int | None) -> Iterator[Relation]:
    yield from _constant(first, second)
    yield from _rounded(first, second)
    yield from _transposed(first, second)
    if heads is not None:
        yield from _by_heads(first, second, heads)
    if heads is not None and component is not None:
        yield from _by_components(first, second, heads, component)
    yield from _scaled(first, second)
    yield from _shifted(first, second)
    yield from _reordered(first, second)
    yield from _in_part(first, second, heads)


def _constant(first: Array, second: Array) -> Iterator[Relation]:
    if second.size > 1 and np.ptp(second) == 0.0 and np.ptp(first) > 0.0:
        yield Relation("constant", f"{float(second.flat[0]):g} in every entry, as before weights are loaded")


def _rounded(first: Array, second: Array) -> Iterator[Relation]:
    with np.errstate(invalid="ignore"):
        error, size = np.abs(second - first), np.maximum(np.abs(first), np.abs(second))
    if bool((error <= _MERGED * SINGLE * size.max(initial=0.0)).all()):
        yield Relation(STORED, "the same, up to the rounding of float32, in which it is stored")
        return
    for name, unit in _ROUNDED:
        # Numbers near zero lose more than the last bit in half precision.
        if bool((error <= 2.0 * unit * size + 2.0**-24 * (unit == HALF)).all()):
            yield Relation("rounded", f"the same, rounded to {name}")
            return


def _transposed(first: Array, second: Array) -> Iterator[Relation]:
    for axis in range(1, first.ndim):
        rows = int(np.prod(first.shape[:axis]))
        matrix, other = first.reshape(rows, -1), second.reshape(rows, -1)
        if matrix.shape[0] == matrix.shape[1] and agree(other.T, matrix):
            yield Relation("transposed", "the transpose")
            return
        if matrix.shape[0] > 1 and agree(other.reshape(matrix.T.shape).T, matrix):
            yield Relation(
                "reshaped", "the transpose, cut into rows of another length: reshaped where it should be turned"
            )
            return


def _by_heads(first: Array, second: Array, heads: int) -> Iterator[Relation]:
    order = _matched(np.moveaxis(first, heads, 0), np.moveaxis(second, heads, 0))
    if order is not None:
        words = "in reverse order" if order == tuple(reversed(range(len(order)))) else f"in the order {list(order)}"
        yield Relation("heads permuted", f"the same with its heads {words}", order)


def _by_components(first: Array, second: Array, heads: int, component: int) -> Iterator[Relation]:
    count, width = first.shape[heads], first.shape[component]
    flat = [np.moveaxis(array, (heads, component), (-2, -1)) for array in (first, second)]
    crossed = flat[0].reshape(*flat[0].shape[:-2], width, count).swapaxes(-1, -2)
    if agree(flat[1], crossed):
        yield Relation("component major", "the same with heads and components exchanged: its columns count heads first")
        return
    crossed = flat[0].swapaxes(-1, -2).reshape(flat[0].shape)
    if agree(flat[1], crossed):
        yield Relation("component major", "the same with heads and components exchanged: its columns count heads last")
        return
    for name, turn in _pairings(width):
        if agree(flat[1], flat[0][..., turn]):
            comma = "" if name.startswith(",") else " "
            yield Relation("rotary order", f"the same with the components of each head{comma}{name}")
            return
    order = _matched(np.moveaxis(flat[0], -1, 0), np.moveaxis(flat[1], -1, 0))
    if order is not None:
        yield Relation("components permuted", f"the same with the components of each head in the order {list(order)}")


def _pairings(width: int) -> Iterator[tuple[str, Array]]:
    """Yield the orders of other rotary pairs; a part of the components may be turned, the first or the last."""
    for turned in range(width - width % 2, len(("sine", "cosine")), -2):
        for start in dict.fromkeys((0, width - turned)):
            for words, half in _pairings_of_all(turned):
                order = np.arange(width)
                order[start : start + turned] = start + half
                rest = "" if turned == width else f", of which {turned} are turned,"
                yield f"{rest} {words}".strip(" "), order


def _pairings_of_all(width: int) -> Iterator[tuple[str, Array]]:
    half = np.arange(width)
    yield "in the order of interleaved pairs", half.reshape(2, -1).T.ravel()
    yield "in the order of pairs half a width apart", half.reshape(-1, 2).T.ravel()
    yield "with its halves exchanged", np.roll(half, width // 2)


def _scaled(first: Array, second: Array) -> Iterator[Relation]:
    size = float((first * first).sum())
    if not size or not np.isfinite(size):
        return
    factor = float((first * second).sum()) / size
    if factor and np.isfinite(factor) and _equal_in_single(second, factor * first):
        yield Relation("scaled", f"the same times {factor_in_words(factor, first.shape)}", factor=factor)


def _equal_in_single(first: Array, second: Array) -> bool:
    """Return whether numbers are equal up to one rounding to float32, in which converters compute."""
    return bool((np.abs(first - second) <= 4.0 * SINGLE * np.abs(second)).all())


def factor_in_words(factor: float, sizes: tuple[int, ...] = ()) -> str:
    """Return a constant with what it is of one of some sizes: √40, 1/√12."""
    for size in dict.fromkeys(one for one in sizes if one > 1):
        root = math.sqrt(size)
        ways = ((root, f"√{size}"), (1 / root, f"1/√{size}"), (size, str(size)), (1 / size, f"1/{size}"))
        # A root that is a whole number is said as that number.
        for value, words in ways if root != round(root) else ways[2:]:
            if abs(abs(factor) - value) <= 1e-6 * value:
                return f"{'-' if factor < 0 else ''}{words}"
    return f"{factor:.6g}"


def _shifted(first: Array, second: Array) -> Iterator[Relation]:
    for amount, words in ((1.0, "the same plus 1"), (-1.0, "the same minus 1")):
        if np.abs(second - first - amount).max() <= 4.0 * SINGLE * max(float(np.abs(first).max()), 1.0):
            yield Relation("one off", words)


def _reordered(first: Array, second: Array) -> Iterator[Relation]:
    if first.ndim == 1:
        if agree(second, first[::-1]):
            yield Relation("permuted", "the same in reverse order")
        elif _same_numbers(first, second):
            yield Relation("permuted", "the same numbers in another order")
        return
    for axis, name in ((0, "rows"), (first.ndim - 1, "columns")):
        order = _matched(np.moveaxis(first, axis, 0), np.moveaxis(second, axis, 0))
        if order is not None:
            shift = order[0]
            rolled = order == tuple((i + shift) % len(order) for i in range(len(order)))
            words = f"moved by {shift}" if rolled else "in another order"
            yield Relation("permuted", f"the same with its {name} {words}", order)
            return
    if _same_numbers(first, second):
        yield Relation("permuted", "the same numbers in another order")


def _same_numbers(first: Array, second: Array) -> bool:
    return agree(np.sort(second, axis=None), np.sort(first, axis=None))


def _matched(first: Array, second: Array) -> tuple[int, ...] | None:
    """Return for each slice of the second along its first axis which slice of the first it is; None without a match."""
    count = len(first)
    if count < 2:
        return None
    one, other = first.reshape(count, -1), second.reshape(count, -1)
    by_first, by_second = np.lexsort(one.T[:4]), np.lexsort(other.T[:4])
    if not agree(other[by_second], one[by_first]):
        return None
    order = np.empty(count, dtype=np.int64)
    order[by_second] = by_first
    return tuple(int(place) for place in order)


def _in_part(first: Array, second: Array, heads: int | None) -> Iterator[Relation]:
    """Yield that only some rows, columns or heads are other numbers."""
    equal = first == second
    share = float(equal.mean())
    if share < _LEAST_SHARE:
        return
    named = [(heads, "heads")] if heads is not None else []
    for axis, name in (*named, (0, "rows"), (first.ndim - 1, "columns")):
        others = tuple(one for one in range(first.ndim) if one != axis)
        wrong = np.flatnonzero(~equal.all(axis=others))
        if first.ndim > 1 and len(wrong) < first.shape[axis]:
            listed = ", ".join(map(str, wrong[:6])) + (", …" if len(wrong) > 6 else "")
            yield Relation("in part", f"the same but for {len(wrong)} of {first.shape[axis]} {name} ({listed})")
            return
    yield Relation("in part", f"the same in {share:.0%} of its entries")
