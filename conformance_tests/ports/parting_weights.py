"""Weights that two models use next to the last values that both have, where these are not the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.arrangements import OTHER, SAME, Relation, relation
from veriformer.conformance_tests.ports.layouts import is_laid_out
from veriformer.conformance_tests.ports.parting import Behind, Parting, Partings
from veriformer.conformance_tests.recognition.agreement import agree, distance
from veriformer.conformance_tests.recognition.maps import canonical_factors, factors

# A fused step of one model may be so many of the other.
_AS_MANY = 16


@dataclass(frozen=True)
class WeightTold:
    """A weight of the second model that is not the first one's in the same place; `elsewhere` is the one that it is.

    `takes_others` says that it is the first one's, of which the second model takes other rows, or in another order.
    """

    relation: Relation
    first: int
    second: int
    names_a: tuple[str, ...]
    names_b: tuple[str, ...]
    elsewhere: str = ""
    takes_others: bool = False


def weights_told(of: Partings, one: Parting) -> Iterator[WeightTold]:
    """Yield the weights of a step, or of those that follow where it is one of several, that the first model has not."""
    if one.first is None or not _reads_the_same(of, one):
        return
    used_a = list(_used(of.first, one.first))
    for place, operand in _used(of.second, one.second.step):
        if any(of.is_same(operand, other) for _, other in used_a):
            yield from _in_another_order(of, (place, operand), used_a)
            continue
        others = [(at, other) for at, other in used_a if not _is_found(of, other, one)]
        best = _nearest(of, operand, others)
        found = None if best is None else _compared(of, place, operand, *best)
        if found is not None:
            yield found


def _reads_the_same(of: Partings, one: Parting) -> bool:
    assert one.first is not None
    moving = of.first.moving(one.first)
    if not moving:
        return False
    return any(of.is_same(value, other) for value in one.second.common for other in moving)


def _used(side: Behind, place: int) -> Iterator[tuple[int, int]]:
    """Yield the weights of a step; of one without, those of the steps behind it up to the next product of matrices."""
    own = side.weights(place)
    yield from ((place, operand) for operand in own)
    if own:
        return
    result = side.flow.steps[place].results[0]
    for value in side.chain(result)[:_AS_MANY]:
        at = side.flow.maker(value)
        if at is None or at == place:
            continue
        if side.flow.steps[at].kind in (Kind.CONTRACTION, Kind.ATTENTION):
            return
        yield from ((at, operand) for operand in side.weights(at))


def _is_found(of: Partings, other: int, one: Parting) -> bool:
    """Return whether the second model uses a weight of the first one here."""
    return any(of.is_same(operand, other) for _, operand in _used(of.second, one.second.step))


def _nearest(of: Partings, operand: int, others: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the weight of the first model that a weight stands for: one of its size."""
    size = of.second.flow.array(operand).size
    return next((one for one in others if of.first.flow.array(one[1]).size == size), None)


def _compared(of: Partings, place: int, operand: int, at: int, other: int) -> WeightTold | None:
    names_a, names_b = of.first.flow.parameters_of(other), of.second.flow.parameters_of(operand)
    elsewhere = _elsewhere(of, operand, names_a)
    looked_up = _is_looked_up(of.first, other) and _is_looked_up(of.second, operand)
    if not elsewhere and looked_up and _are_the_same(of, names_a, names_b):
        return WeightTold(SAME, at, place, names_a, names_b, takes_others=True)
    if not of.second.frontier.is_weight(operand) or not of.first.frontier.is_weight(other):
        return WeightTold(OTHER, at, place, names_a, names_b, elsewhere) if elsewhere else None
    mine, theirs = _as_matrix(of.second, place, operand), _as_matrix(of.first, at, other)
    found = relation(theirs, mine)
    elsewhere = elsewhere if found.name in ("other numbers", "in part", "other shape") else ""
    # A model in single precision may have rounded its weights.
    rounded = found.name == "rounded" and distance(mine, theirs) <= of.second.common.bound
    return None if found.is_same or rounded else WeightTold(found, at, place, names_a, names_b, elsewhere)


def _is_looked_up(side: Behind, value: int) -> bool:
    """Return whether a value holds rows of parameters that nothing was done to."""
    step = side.flow.making(value)
    if step is None:
        return side.flow.trace.values[value].origin != "constant"
    floats = [one for one in step.operands if side.flow.array(one).dtype.kind == "f"]
    return step.kind in (Kind.REARRANGEMENT, Kind.LOOKUP) and all(_is_looked_up(side, one) for one in floats)


def _are_the_same(of: Partings, first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether some parameters of the two models hold the same numbers."""
    if not first or not second:
        return False
    values = [of.first.flow.trace.parameters[name] for name in first]
    own = [of.second.flow.trace.parameters[name] for name in second]
    return all(any(of.is_same(value, each) for each in values) for value in own)


def _in_another_order(of: Partings, own: tuple[int, int], others: list[tuple[int, int]]) -> Iterator[WeightTold]:
    """Yield that a weight has the same numbers as the first model's, each in another place."""
    place, operand = own
    for at, other in others:
        if not of.is_same(operand, other) or of.first.flow.array(other).size != of.second.flow.array(operand).size:
            continue
        mine, theirs = _as_matrix(of.second, place, operand), _as_matrix(of.first, at, other)
        if mine.shape != theirs.shape:
            if is_laid_out(theirs, mine) is not False:
                continue
            found = Relation("permuted", "the same numbers in another order")
        elif agree(mine, theirs) or _same_columns(theirs, mine):
            continue
        else:
            found = relation(theirs, mine)
        if found is not OTHER and not found.is_same:
            yield WeightTold(
                found, at, place, of.first.flow.parameters_of(other), of.second.flow.parameters_of(operand)
            )


def _elsewhere(of: Partings, operand: int, wanted: tuple[str, ...]) -> str:
    """Return the parameter of the first model whose numbers a weight has, if that is not the one that is wanted."""
    for value in sorted(of.counterparts(operand)):
        names = of.first.flow.parameters_of(value)
        if names and of.first.flow.is_fixed(value) and not set(names) & set(wanted):
            return ", ".join(names)
    return ""


def _as_matrix(side: Behind, place: int, operand: int) -> Array:
    """Return a weight as a step uses it: what is summed over first, then the rest; another one without axes of one."""
    step, array = side.flow.steps[place], side.flow.array(operand)
    if step.kind == Kind.CONTRACTION and operand in factors(step):
        turned = canonical_factors(side.flow, step)
        if turned is not None:
            which = factors(step).index(operand)
            whole = turned[which]
            kept = whole.ndim - len(step.attributes["contracted"][which])
            return whole.reshape(-1, int(np.prod(whole.shape[kept:]))).T
    return np.atleast_1d(array.squeeze())


def _same_columns(first: Array, second: Array) -> bool:
    """Return whether two matrices have the same columns in some order: heads may be counted otherwise."""
    if first.ndim != 2 or first.shape[1] < 2:
        return False
    one, other = (array[:, np.lexsort(array[:4])] for array in (first, second))
    return agree(other, one)
