"""What one value is of another, tried one after the other; each is said only where it holds for every number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.arrangements import factor_in_words
from veriformer.conformance_tests.ports.findings import CauseKind
from veriformer.conformance_tests.recognition.agreement import BFLOAT, HALF, SINGLE, agree, distance, unit_of
from veriformer.conformance_tests.recognition.elementwise import activation_of, limits_of
from veriformer.conformance_tests.recognition.norms import norm_of

UNIT = SINGLE / 64
"""A model in float64 may have a few steps in float32."""
_ROUNDED = {HALF: "float16", BFLOAT: "bfloat16", SINGLE: "float32"}
_SEQUENCE_AXES = 3
# A number for each component says something only where there are more vectors than that.
_LEAST_ROWS = 4
_MOST_VECTORS = 6


@dataclass(frozen=True)
class Known:
    """What the two models have in common before a value: earlier values by what they are, and vectors of weights."""

    values: Mapping[str, Array]
    vectors: Mapping[str, Array]


@dataclass(frozen=True)
class Explanation:
    """What B's value is of A's: `words` go on after "B's … ", `change` is what B must do."""

    kind: CauseKind
    name: str
    words: str
    change: str
    confidence: float = 1.0


def explained(first: Array, second: Array, known: Known) -> Explanation | None:
    """Return what `second` is of `first`, both in the same shape; None where it is nothing of what is tried."""
    if first.shape != second.shape or first.ndim < 1 or not (np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    with np.errstate(all="ignore"):
        return next(_explanations(first, second, known), None)


def _explanations(first: Array, second: Array, known: Known) -> Iterator[Explanation]:
    yield from _factor(first, second)
    yield from _rounded(first, second)
    yield from _vector(first, second, known)
    yield from _another_value(first, second, known)
    yield from _term(first, second, known)
    yield from _positions(first, second)
    yield from _by_component(first, second, known)
    yield from _function(first, second, known)
    yield from _by_row(first, second)
    yield from _components(first, second)


def _factor(first: Array, second: Array) -> Iterator[Explanation]:
    factor = _multiple(first, second)
    if factor is not None and abs(factor - 1.0) >= 1e-6:
        words = factor_in_words(factor, (*first.shape[-1:], *first.shape[1:-1]))
        yield Explanation("factor", "scaled", f"is A's times {words}", f"divide it by {words}")


def _multiple(first: Array, second: Array) -> float | None:
    """Return c where the second is c times the first; None where there is no such number, or it is 0."""
    size = float((first * first).sum())
    factor = float((first * second).sum()) / size if size and np.isfinite(size) else 0.0
    return factor if factor and np.isfinite(factor) and agree(second, factor * first, UNIT) else None


def _rounded(first: Array, second: Array) -> Iterator[Explanation]:
    unit = unit_of(second)
    if unit in _ROUNDED and unit > unit_of(first) and (np.abs(second - first) <= 2.0 * unit * np.abs(first)).all():
        words = f"is A's, rounded to {_ROUNDED[unit]}"
        yield Explanation("precision", "rounded", words, "compute it in A's own precision")


def _vector(first: Array, second: Array, known: Known) -> Iterator[Explanation]:
    """Yield that the same vector was added at every position, and which one."""
    left = (second - first).reshape(-1, first.shape[-1])
    if len(left) < 2 or not _equal(second, (second.reshape(left.shape) - left + left[:1]).reshape(first.shape)):
        return
    for name, vector in known.vectors.items():
        times = _multiple(vector, left[0]) if vector.size == left.shape[1] else None
        if times is not None:
            yield Explanation("mistake", "bias", *_added(times, f"the {name}"))
            return
    words = "differs from A's by one vector, the same at every position: a bias"
    yield Explanation("mistake", "bias", words, "add the bias that A adds to it", 0.8)


def _added(times: float, what: str) -> tuple[str, str]:
    """Return the words and the mending where B has something more or less often than A."""
    if abs(times + 1.0) < 1e-6:
        return f"lacks {what}, which A adds", f"add {what}, as A does"
    if abs(times + 2.0) < 1e-6:
        return f"is A's where {what} is subtracted, and not added", f"add {what}, and do not subtract it"
    if abs(times - 1.0) < 1e-6:
        return f"has {what} added once more than A's", f"do not add {what} again"
    return f"has {factor_in_words(times)} times {what} added to A's", f"add {what} as A does"


def _another_value(first: Array, second: Array, known: Known) -> Iterator[Explanation]:
    """Yield that the value is one that came before: a step that was left out."""
    for name, value in known.values.items():
        array = _like(value, first)
        times = None if array is None or agree(array, first, UNIT) else _multiple(array, second)
        if times is not None:
            much = "" if abs(times - 1.0) < 1e-6 else f"{factor_in_words(times)} times "
            words = f"is {much}the {name}: what A does in between is left out"
            yield Explanation("mistake", "left out", words, f"do what A does between the {name} and this")


def _term(first: Array, second: Array, known: Known) -> Iterator[Explanation]:
    """Yield that a value that came before was added, or was not."""
    for name, value in known.values.items():
        array = _like(value, first)
        times = None if array is None else _multiple(array, second - first)
        if times is not None:
            yield Explanation("mistake", "term", *_added(times, f"the {name}"))


def _like(value: Array, other: Array) -> Array | None:
    return value.reshape(other.shape) if value.size == other.size else None


def _positions(first: Array, second: Array) -> Iterator[Explanation]:
    """Yield that whole vectors stand at other positions, or in other samples."""
    if first.ndim < _SEQUENCE_AXES:
        return
    one, other = (np.moveaxis(array, -2, 0) for array in (first, second))
    length = len(one)
    for shift in (1, -1, 2, -2):
        rolled, inner = np.roll(one, shift, axis=0), slice(max(shift, 0), length + min(shift, 0))
        if length > abs(shift) + 1 and _equal(other[inner], rolled[inner]) and _differ(one[inner], other[inner]):
            places = f"{abs(shift)} {'later' if shift > 0 else 'earlier'}"
            around = ", and those at the end come round" if _equal(other, rolled) else ""
            words = f"is A's, with each position's vector {places}{around}"
            yield Explanation("mistake", "positions moved", words, "keep each vector at its own position")
            return
    if _equal(other, one[::-1]):
        yield Explanation(
            "mistake", "positions reversed", "is A's from the last position to the first", "keep the order"
        )
    elif (order := _order(one, other)) is not None:
        words = f"is A's with its positions in the order {_listed(order)}"
        yield Explanation("mistake", "positions permuted", words, "keep the order of positions")
    samples = _order(first, second)
    if samples is not None:
        words = f"is A's with its samples in the order {_listed(samples)}"
        yield Explanation("mistake", "samples permuted", words, "keep the order of samples")


def _order(first: Array, second: Array) -> tuple[int, ...] | None:
    """Return which slice of the first each slice of the second is, each once; None where they are others."""
    flat = [array.reshape(len(array), -1) for array in (first, second)]
    if len(flat[0]) < 2:
        return None
    found = [int(np.abs(flat[0] - row).max(axis=1).argmin()) for row in flat[1]]
    moved = len(set(found)) == len(found) and found != list(range(len(found)))
    return tuple(found) if moved and _equal(flat[1], flat[0][found]) else None


def _listed(order: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, order[:12]))}{', …' if len(order) > 12 else ''}]"


def _by_component(first: Array, second: Array, known: Known) -> Iterator[Explanation]:
    """Yield that each component was multiplied by a number of its own, and which vector these are."""
    rows = first.reshape(-1, first.shape[-1])
    if len(rows) < _LEAST_ROWS:
        return
    factors = (rows * second.reshape(rows.shape)).sum(axis=0) / (rows * rows).sum(axis=0)
    if not np.isfinite(factors).all() or not _equal(second, (rows * factors).reshape(first.shape)):
        return
    for name, vector in known.vectors.items():
        if vector.size != factors.size:
            continue
        for words, change, way in (
            (f"is multiplied by the {name} once more than A's", f"multiply by the {name} once", vector),
            (f"is not multiplied by the {name}, as A's is", f"multiply by the {name}", 1.0 / vector),
        ):
            if agree(factors, way, UNIT):
                yield Explanation("mistake", "gain", words, change)
                return
    words = "is A's with each component multiplied by a number of its own, the same at every position: a gain"
    yield Explanation("mistake", "gain", words, "multiply the components as A does", 0.8)


def _function(first: Array, second: Array, known: Known) -> Iterator[Explanation]:
    """Yield that a function of each number, or of each vector, was applied to one of the two alone."""
    for given, made, side, other in ((first, second, "B", "A"), (second, first, "A", "B")):
        name = _name_of_function(given, made, known)
        if name is not None:
            words = f"is A's after {name}" if side == "B" else f"is what A's is before {name}"
            change = f"leave out {name}" if side == "B" else f"apply {name}, as A does"
            yield Explanation("mistake", name, f"{words}, which {other} does not apply", change)


def _name_of_function(x: Array, y: Array, known: Known) -> str | None:
    name = activation_of(x, y, UNIT)
    if name is not None:
        return name
    top = x.max(axis=-1, keepdims=True)
    total = np.log(np.exp(x - top).sum(axis=-1, keepdims=True)) + top
    for name, made in (
        ("softmax", np.exp(x - total)),
        ("log_softmax", x - total),
        ("abs", np.abs(x)),
        ("exp", np.exp(x)),
        ("l2_norm", x / np.sqrt((x**2).sum(axis=-1, keepdims=True))),
        ("centring", x - x.mean(axis=-1, keepdims=True)),
    ):
        if np.isfinite(made).all() and _equal(y, made) and _differ(x, y):
            return name
    limits = limits_of(x, y)
    if limits is not None:
        return "limits"
    vectors = [vector for vector in known.vectors.values() if vector.size == x.shape[-1]][:_MOST_VECTORS]
    found = norm_of(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), vectors, UNIT)
    return None if found is None else found.kind


def _by_row(first: Array, second: Array) -> Iterator[Explanation]:
    """Yield that each vector was multiplied by a number of its own, or had one number added to all components."""
    rows, others = (array.reshape(-1, first.shape[-1]) for array in (first, second))
    factors = (rows * others).sum(axis=-1, keepdims=True) / (rows * rows).sum(axis=-1, keepdims=True)
    if rows.shape[-1] > 2 and np.isfinite(factors).all() and _equal(others, rows * factors):
        where = _by_position(first, factors)
        words = f"is A's with each vector multiplied by a number of its own{where}"
        yield Explanation(
            "factor", "scaled by position" if where else "scaled by vector", words, "scale it as A does", 0.8
        )
    shifts = (others - rows).mean(axis=-1, keepdims=True)
    if rows.shape[-1] > 2 and _equal(others, rows + shifts):
        words = "differs from A's by one number for each vector"
        yield Explanation("mistake", "shifted by vector", words, "add to each vector what A adds", 0.8)


def _by_position(first: Array, factors: Array) -> str:
    """Return which position has which factor, where all samples have the same ones."""
    if first.ndim < _SEQUENCE_AXES:
        return ""
    by_position = factors.reshape(-1, first.shape[-2])
    if not _equal(by_position, np.broadcast_to(by_position[:1], by_position.shape)):
        return ""
    return f", by its position: {', '.join(f'{one:.4g}' for one in by_position[0][:4])}, …"


def _components(first: Array, second: Array) -> Iterator[Explanation]:
    order = _order(np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0))
    if order is not None:
        words = f"is A's with its components in the order {_listed(order)}"
        yield Explanation("mistake", "components permuted", words, "keep the order of components")


def _equal(got: Array, expected: Array) -> bool:
    return agree(np.asarray(got), np.asarray(expected), UNIT)


def _differ(first: Array, second: Array) -> bool:
    return distance(second, first) > 1e-6


def where_they_differ(first: Array, second: Array) -> str:
    """Return in which positions or components alone two values differ; "" where they do in most."""
    if first.shape != second.shape or first.ndim < _SEQUENCE_AXES:
        return ""
    wrong = np.abs(second - first) > 4096 * UNIT * float(np.abs(first).max())
    for axis, name in ((first.ndim - 2, "positions"), (first.ndim - 1, "components"), (0, "samples")):
        others = tuple(one for one in range(first.ndim) if one != axis)
        places = np.flatnonzero(wrong.any(axis=others))
        if 0 < len(places) <= first.shape[axis] // 2:
            return f", in {name} {_listed(tuple(int(one) for one in places))} alone"
    return ""
