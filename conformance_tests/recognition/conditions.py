"""The vectors that each sample has of its own, in a stream that a time step or a class conditions, and their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.expressions import (
    Activated,
    Condition,
    Expression,
    Fixed,
    Gated,
    Norm,
    Output,
    Scaled,
    Shifted,
    Taken,
)
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.reader import Reader
from veriformer.conformance_tests.recognition.sublayers import each_inside


def conditions_of(one: Norm | Gated) -> Iterator[tuple[str, Condition]]:
    """Yield the vectors that each sample has of its own, with what they do: "gain", "shift" or "factor"."""
    if isinstance(one, Gated):
        yield "factor", one.by
        return
    if one.given_gain is not None:
        yield "gain", one.given_gain
    if one.given_shift is not None:
        yield "shift", one.given_shift


def conditioned_in(ends: Iterable[Expression]) -> tuple[Norm | Gated, ...]:
    """Return the norms, and what else is multiplied, to which each sample has a vector of its own, in order."""
    inside = (one for end in ends for one in each_inside(end))
    found = {one.value: one for one in inside if _is_conditioned(one)}
    return tuple(one for _, one in sorted(found.items()))


def _is_conditioned(one: Expression) -> TypeGuard[Norm | Gated]:
    return isinstance(one, Gated) or (isinstance(one, Norm) and one.given_gain is not None)


def conditioners_of(
    conditioned: Sequence[Norm | Gated], reader: Reader, maps: Sequence[LinearMap]
) -> tuple[LinearMap, ...]:
    """Return those of the maps that give the vectors of samples, and those before them, in order."""
    allowed = {one.step for one in maps}
    found: dict[int, LinearMap] = {}
    waiting = [condition.of for one in conditioned for _, condition in conditions_of(one)]
    for expression in waiting:
        for one in each_inside(expression):
            if isinstance(one, Output) and one.map.step in allowed and one.map.step not in found:
                found[one.map.step] = one.map
                waiting.append(reader.read(one.map.input))
    return tuple(one for _, one in sorted(found.items()))


def words_of_norm(flow: Flow, norm: Norm) -> Iterator[str]:
    """Yield the gain and the shift that each sample has of its own, in words."""
    yield from (f"{role} {words_of_vector(flow, one)}" for role, one in conditions_of(norm))


def words_of_vector(flow: Flow, condition: Condition) -> str:
    """Return which part of what a map gives a vector of a sample is, with what is done to it."""
    one, before, after = condition.of, "", ""
    while isinstance(one, Shifted | Scaled | Activated):
        if isinstance(one, Shifted):
            before = f"{before}{one.amount:.4g} + "
        elif isinstance(one, Scaled):
            before = f"{before}{one.factor:.4g} · "
        else:
            before, after = f"{before}{one.name}(", f"){after}"
        one = one.of
    return f"{before}{_part_in_words(flow, one)}{after}"


def unused_parts(flow: Flow, conditioned: Sequence[Norm | Gated], one: LinearMap) -> Iterator[str]:
    """Yield the parts of what a map gives, each in words, that neither condition a stream nor go anywhere else."""
    conditions = [condition for each in conditioned for _, condition in conditions_of(each)]
    found = [piece for condition in conditions if (piece := piece_of(flow, condition.of)) and piece[0] == one.output]
    counts = {count for _, _, count in found}
    if len(counts) != 1:
        return
    count = counts.pop()
    samples = flow.shape(one.output)[0]
    pieces = flow.array(one.output).reshape(samples, count, -1)
    for index in sorted(set(range(count)) - {index for _, index, _ in found}):
        if not _is_taken_on(flow, one.output, pieces[:, index]):
            yield f"part {index + 1} of {count}"


def _is_taken_on(flow: Flow, value: int, piece: Array) -> bool:
    """Return whether something is computed of a part of a value, or of the whole of it."""
    for one in flow.descendants(value, stop=lambda one: not _is_moved(flow, one)):
        array = flow.array(one)
        holds = array.size == piece.size and np.array_equal(array.ravel(), piece.ravel())
        if (holds or one == value) and not all(flow.steps[user].kind == Kind.REARRANGEMENT for user in flow.users(one)):
            return True
    return False


def _is_moved(flow: Flow, value: int) -> bool:
    step = flow.making(value)
    return step is not None and step.kind == Kind.REARRANGEMENT


def piece_of(flow: Flow, one: Expression) -> tuple[int, int, int] | None:
    """Return the longer vector that a vector is a part of, which part, and of how many; None where it is whole."""
    while isinstance(one, Shifted | Scaled | Activated):
        one = one.of
    whole = one
    while isinstance(whole, Taken) and len(whole.of) == 1:
        whole = whole.of[0]
    width = flow.shape(one.value)[-1]
    part, several = flow.array(one.value).reshape(-1, width), flow.array(whole.value)
    if several.size % part.size or several.size <= part.size or len(several) != len(part):
        return None
    pieces = several.reshape(len(part), -1, width)
    found = (index for index in range(pieces.shape[1]) if np.array_equal(pieces[:, index], part))
    index = next(found, None)
    return None if index is None else (whole.value, index, pieces.shape[1])


def _part_in_words(flow: Flow, one: Expression) -> str:
    """Return which part of a longer vector a vector is; its name alone where it is the whole."""
    if isinstance(one, Fixed):
        return "a learned vector"
    piece = piece_of(flow, one)
    if piece is not None:
        return f"part {piece[1] + 1} of {piece[2]} of the condition"
    return "some of the condition" if isinstance(one, Taken) else "the condition"


def is_conditioned_by(conditioned: Sequence[Norm | Gated], one: LinearMap) -> bool:
    """Return whether a map's own output holds the vectors of samples, without another map between."""
    return any(
        isinstance(inner, Output) and inner.map.step == one.step
        for each in conditioned
        for _, condition in conditions_of(each)
        for inner in each_inside(condition.of)
    )
