"""Which values of one recorded model another one computes too, however they are laid out, cut up or put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.fingerprints import Vectors, fingerprint, says_something, vectors_of
from veriformer.conformance_tests.recognition.flow import Flow

_MOST_NAMED = 8


@dataclass(frozen=True)
class Counterpart:
    """A value of the other model with the same numbers in some order, each multiplied by `factor`."""

    value: int
    factor: float = 1.0


class Numbers:
    """The values of one model that say something, by their fingerprints."""

    def __init__(self, flow: Flow, bound: float) -> None:
        self.flow, self.bound = flow, bound
        self.values = [index for index in range(len(flow.trace.values)) if self._counts(index)]
        self._sorted: dict[int, Array] = {}

    def _counts(self, value: int) -> bool:
        flow = self.flow
        depends = flow.depends_on_input(value) or flow.depends_on_parameters(value)
        return depends and says_something(flow.array(value))

    @cached_property
    def by_size(self) -> dict[int, tuple[Array, list[int]]]:
        """The fingerprints of all values of a size, sorted by their second number, with the values."""
        found: dict[int, list[tuple[float, float, float, int]]] = {}
        for value in self.values:
            largest, first, second = fingerprint(self.flow.array(value))
            found.setdefault(self.flow.array(value).size, []).append((first, second, largest, value))
        sizes: dict[int, tuple[Array, list[int]]] = {}
        for size, every in found.items():
            every.sort()
            sizes[size] = np.array([one[:3] for one in every]), [one[3] for one in every]
        return sizes

    @cached_property
    def by_length(self) -> dict[int, tuple[Array, Array]]:
        """The vectors of all values of a length, sorted by their largest entry, with the value of each."""
        found: dict[int, list[Vectors]] = {}
        for value in self.values:
            for one in vectors_of(value, self.flow.array(value)):
                found.setdefault(one.length, []).append(one)
        return {length: _joined(every) for length, every in found.items()}

    def in_order(self, value: int) -> Array:
        """Return the numbers of a value, sorted."""
        if value not in self._sorted:
            self._sorted[value] = np.sort(self.flow.array(value), axis=None)
        return self._sorted[value]

    def like(self, array: Array) -> Iterator[tuple[int, float]]:
        """Yield the values whose fingerprint is that of an array, with the size of the factor between them."""
        if array.size not in self.by_size:
            return
        table, values = self.by_size[array.size]
        largest, first, second = fingerprint(array)
        margin = 4.0 * array.size * self.bound
        low, high = np.searchsorted(table[:, 0], (first - margin, first + margin))
        for place in range(int(low), int(high)):
            if abs(table[place, 1] - second) <= 2.0 * margin and table[place, 2] > 0.0:
                yield values[place], largest / float(table[place, 2])


def _joined(every: Sequence[Vectors]) -> tuple[Array, Array]:
    numbers = np.concatenate([one.numbers[one.telling] for one in every])
    values = np.concatenate([np.full(int(one.telling.sum()), one.value) for one in every])
    order = np.argsort(numbers[:, 0], kind="stable")
    return numbers[order], values[order]


class CommonValues:
    """What the values of one model are in the other one."""

    def __init__(self, own: Numbers, other: Numbers) -> None:
        self.own, self.other = own, other
        self.bound = max(own.bound, other.bound)
        self._known = frozenset(own.values)
        self._found: dict[int, tuple[Counterpart, ...]] = {}
        self._in_pieces: dict[int, tuple[int, ...]] = {}

    def says_something(self, value: int) -> bool:
        """Return whether a value would not be found by accident."""
        return value in self._known

    def has(self, value: int) -> bool:
        """Return whether the other model has all numbers of a value, as one value or in pieces."""
        return bool(self.same(value) or self.pieces(value))

    def same(self, value: int) -> tuple[int, ...]:
        """Return the values of the other model with the same numbers, in some order."""
        return tuple(one.value for one in self.counterparts(value) if one.factor == 1.0)

    def scaled(self, value: int) -> tuple[Counterpart, ...]:
        """Return the values of the other model with the same numbers but for a factor that is not 1."""
        return tuple(one for one in self.counterparts(value) if one.factor != 1.0)

    def counterparts(self, value: int) -> tuple[Counterpart, ...]:
        """Return the values of the other model with the same numbers in some order, up to a factor."""
        if value not in self._found:
            self._found[value] = tuple(self._counterparts(value)) if value in self._known else ()
        return self._found[value]

    def _counterparts(self, value: int) -> Iterator[Counterpart]:
        mine = self.own.in_order(value)
        count = 0
        for other, factor in self.other.like(self.own.flow.array(value)):
            theirs = self.other.in_order(other)
            signed = next((one for one in (factor, -factor) if self._is(mine, theirs, one)), None)
            if signed is not None:
                yield Counterpart(other, 1.0 if abs(signed - 1.0) <= self.bound else signed)
                count += 1
            if count >= _MOST_NAMED:
                return

    def _is(self, mine: Array, theirs: Array, factor: float) -> bool:
        """Return whether sorted numbers are others times a factor."""
        scaled = theirs * factor if factor > 0 else theirs[::-1] * factor
        equal = (mine == scaled) | (np.isnan(mine) & np.isnan(scaled))
        if equal.all():
            return True
        error = np.abs(mine - scaled)[~equal]
        finite = mine[np.isfinite(mine)]
        return bool(np.isfinite(error).all() and error.max() <= self.bound * np.abs(finite).max())

    def pieces(self, value: int) -> tuple[int, ...]:
        """Return the values of the other model that hold the vectors of a value along one of its axes; none if not all.

        So are the steps of a loop found in what another model computes at once, and the other way round.
        """
        if value not in self._in_pieces:
            known = value in self._known
            self._in_pieces[value] = self._pieces(value) if known else ()
        return self._in_pieces[value]

    def _pieces(self, value: int) -> tuple[int, ...]:
        for one in vectors_of(value, self.own.flow.array(value)):
            if 2 * one.telling.sum() < len(one.telling) or one.length not in self.other.by_length:
                continue
            holders = self._holders(one.numbers[one.telling], *self.other.by_length[one.length], one.length)
            if holders is not None:
                return tuple(dict.fromkeys(holders))[:_MOST_NAMED]
        return ()

    def _holders(self, wanted: Array, table: Array, values: Array, length: int) -> list[int] | None:
        """Return for each vector the value that has it; None where one is in none."""
        if not self._all_near(wanted[:1], table, length)[0].all():
            return None
        near, at = self._all_near(wanted, table, length)
        return [int(values[place]) for place in at] if near.all() else None

    def _all_near(self, wanted: Array, table: Array, length: int) -> tuple[Array, Array]:
        """Return which vectors are in a table, and where."""
        start = np.searchsorted(table[:, 0], wanted[:, 0])
        found, place = np.zeros(len(wanted), dtype=bool), np.zeros(len(wanted), dtype=np.int64)
        largest = wanted[:, :1]
        ones = np.ones_like(largest)
        margin = self.bound * largest * np.hstack([ones, length * ones, length * ones, 2 * length * largest])
        for step in (0, -1, 1, -2, 2):
            at = np.clip(start + step, 0, len(table) - 1)
            near = (np.abs(table[at] - wanted) <= margin).all(axis=1)
            place = np.where(near & ~found, at, place)
            found |= near
        return found, place
