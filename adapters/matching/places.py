"""Functions that turn row i of a sequence by position i: other positions are reached by moving the rows there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching.layouts import Arguments, Around, AsItIs, Inner, Layout, OneByOne
from veriformer.adapters.matching.namespaces import (
    has_values,
    joined,
    of_each,
    part_of,
    reshaped,
    shape_of,
    stacked,
    transposed,
)

FARTHEST = 20_000
"""The last position that is reached by a row in its place: more rows would be too many."""


@dataclass(frozen=True)
class SampleBySample(Around):
    """A layout in which each sample has a call of its own where each has positions of its own."""

    for_each_sample: ClassVar[bool] = True

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns, for all samples."""
        positions, x = arguments["positions"], arguments["x"]
        if len(shape_of(positions)) == 1:
            return self.layout.call(inner, arguments)

        def of_one(own: Any, its: Any) -> Any:
            return part_of(self.layout.call(inner, {**arguments, "x": own[None], "positions": its}), 0)

        return of_each(of_one, x, positions)


@dataclass(frozen=True)
class OnePosition(Around):
    """A layout in which each row has a call of its own, without an axis of rows, and is given its position."""

    words: str = ""
    rank: int = 3
    for_each_sample: ClassVar[bool] = True

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the turned rows, for all samples."""
        positions, x = arguments["positions"], arguments["x"]
        if len(shape_of(positions)) == 1:
            return self._turned(inner, arguments, x, positions)
        samples = range(shape_of(x)[0])
        parts = [(part_of(x, slice(b, b + 1)), part_of(positions, b)) for b in samples]
        return joined([self._turned(inner, arguments, own, its) for own, its in parts], 0)

    def _turned(self, inner: Inner, arguments: Arguments, x: Any, positions: Any) -> Any:
        def of_one(given: Arguments) -> Any:
            shape = shape_of(given["x"])
            result = inner({**given, "x": reshaped(given["x"], (*shape[:-2], shape[-1]))})
            return reshaped(result, shape)

        whole = slice(None)
        rows = [
            {**arguments, "x": part_of(x, (whole, whole, slice(row, row + 1))), "positions": part_of(positions, row)}
            for row in range(shape_of(x)[2])
        ]
        return joined([self.layout.call(of_one, one) for one in rows], 2)


def of_one_position() -> list[Layout]:
    """Return the layouts of rotations that turn the vectors of a single position."""
    return [
        OnePosition(AsItIs(), "(B, H, D), one position", 3),
        OnePosition(OneByOne("", 3, ("x",), 1), "(H, D), one position, without samples", 2),
        OnePosition(OneByOne("", 2, ("x",), 2), "(D,), one position of one head", 1),
    ]


@dataclass(frozen=True)
class ByPlace(Around):
    """A layout in which each row of x is moved to the place of its position, and back afterwards."""

    for_each_sample: ClassVar[bool] = True
    framework: ArrayFramework

    @property
    def words(self) -> str:
        """What is said of it."""
        return f"{self.layout.words}; row i has position i"

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the turned rows; ValueError for positions too far away to be reached by moving rows."""
        positions = self.framework.to_numpy(arguments["positions"])
        if positions.ndim == 1:
            return self._moved(inner, arguments, arguments["x"], positions)
        x, samples = arguments["x"], range(shape_of(arguments["x"])[0])
        one_each = [part_of(x, slice(b, b + 1)) for b in samples]
        return stacked([part_of(self._moved(inner, arguments, one_each[b], positions[b]), 0) for b in samples])

    def _moved(self, inner: Inner, arguments: Arguments, x: Any, positions: np.ndarray) -> Any:
        if positions.size and (positions.max() > FARTHEST or positions.min() < 0):
            raise ValueError(f"positions are the places of rows here, at most {FARTHEST}")
        rounds = _rounds(positions)
        if len(rounds) < 2:
            return self._in_places(inner, arguments, x, positions)
        # Rows of one position cannot stand in one place: they come in calls of their own.
        found: dict[int, Any] = {}
        for rows in rounds:
            turned = self._in_places(inner, arguments, x[:, :, self.framework.from_numpy(rows)], positions[rows])
            found |= {int(row): turned[:, :, number] for number, row in enumerate(rows)}
        return transposed(stacked([found[row] for row in range(positions.size)]), (1, 2, 0, 3))

    def _in_places(self, inner: Inner, arguments: Arguments, x: Any, positions: np.ndarray) -> Any:
        rows = np.zeros(int(positions.max(initial=0)) + 1, dtype=np.int64)
        rows[positions] = np.arange(positions.size)
        turned = self.layout.call(inner, {**arguments, "x": self._rows(x, rows)})
        return self._rows(turned, positions)

    def _rows(self, array: Any, places: np.ndarray) -> Any:
        chosen = places if has_values(array) else self.framework.from_numpy(places)
        return part_of(array, (slice(None), slice(None), chosen))


def _rounds(positions: np.ndarray) -> list[np.ndarray]:
    """Return rows in groups of which no two have one position: the first of each position, the second, and so on."""
    seen: dict[int, int] = {}
    rounds: list[list[int]] = []
    for row, position in enumerate(positions.tolist()):
        number = seen.get(position, 0)
        seen[position] = number + 1
        rounds = rounds if number < len(rounds) else [*rounds, []]
        rounds[number].append(row)
    return [np.asarray(rows, dtype=np.int64) for rows in rounds]
