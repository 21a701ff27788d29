"""Which points of a family return what the implementation returns: single changes first, then pairs.

What contradicts a call is eliminated. Between the points that remain, inputs are drawn until one of them tells two
apart; only then the implementation is called again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from veriformer.conformance_tests.diagnosis.observation import Array, Observation, arguments_of, result_at
from veriformer.conformance_tests.families.family import Change, Point
from veriformer.conformance_tests.subject import Inputs

Changes = tuple[Change, ...]
Observe = Callable[[Inputs], Observation | None]
# Calls that every explanation must stand before it is believed, beyond those that broke laws.
_CONFIRMATIONS = 8


@dataclass
class Elimination:
    """The search among the points around `base`, the reference under the implementation's conventions."""

    base: Point
    observations: list[Observation]
    draws: Iterable[Inputs]
    observe: Observe
    seconds: float
    tried: int = 0
    _deadline: float = field(init=False, default=float("inf"))

    def standing(self) -> list[Changes]:
        """Return the changes that explain every call, the simplest kind that any does; empty where none does."""
        self.observations.sort(key=lambda observation: (not observation.deviates, observation.size))
        drawn = iter(self.draws)
        self._confirm(drawn)
        # Counted from here: the first calls may have been compiled.
        self._deadline = time.monotonic() + self.seconds
        for candidates in (self._singles(), self._beside_conventions(), self._pairs()):
            found = [changes for changes in candidates if self._explains(changes)]
            if found:
                return self._separated(found, drawn)
        return []

    def _explains(self, changes: Changes) -> bool:
        if time.monotonic() > self._deadline:
            return False
        self.tried += 1
        point = self.base.changed(*changes)
        return all(observation.fits(point) for observation in self.observations)

    def _singles(self) -> list[Changes]:
        return [(change,) for change in self.base.single_changes()]

    def _beside_conventions(self) -> list[Changes]:
        """Return single changes with another value of one convention: a mistake can hide what was to be inferred."""
        swaps = [change for change in self.base.single_changes() if self._is_convention(change)]
        mistakes = self._by_merit(change for change in self.base.single_changes() if not self._is_convention(change))
        return [(change, swap) for change in mistakes for swap in swaps if change[0] != swap[0]]

    def _pairs(self) -> Iterator[Changes]:
        mistakes = self._by_merit(change for change in self.base.single_changes() if not self._is_convention(change))
        merit = {change: rank for rank, change in enumerate(mistakes)}
        pairs = [pair for pair in combinations(mistakes, 2) if pair[0][0] != pair[1][0]]
        return iter(sorted(pairs, key=lambda pair: merit[pair[0]] + merit[pair[1]]))

    def _by_merit(self, changes: Iterable[Change]) -> list[Change]:
        """Return changes in the order of how many of the deviating calls each explains alone."""
        deviating = [observation for observation in self.observations if observation.deviates]

        def merit(change: Change) -> int:
            point = self.base.changed(change)
            return -sum(observation.fits(point) for observation in deviating)

        return sorted(changes, key=merit)

    def _is_convention(self, change: Change) -> bool:
        return bool(self.base.family.all_decisions[change[0]].convention)

    def _confirm(self, drawn: Iterator[Inputs]) -> None:
        """Add calls that no law asked for: an explanation of a violation must explain what is right as well."""
        for _, inputs in zip(range(_CONFIRMATIONS), drawn, strict=False):
            observation = self.observe(inputs)
            if observation is not None:
                self.observations.append(observation)

    def _separated(self, standing: list[Changes], drawn: Iterator[Inputs]) -> list[Changes]:
        """Return those that remain after calls on inputs that tell them apart."""
        for inputs in drawn:
            if len(standing) < 2 or time.monotonic() > self._deadline:
                break
            results = [result_at(self.base.changed(*changes), arguments_of(inputs)) for changes in standing]
            if not differ(results) or (observation := self.observe(inputs)) is None:
                continue
            kept = [
                changes
                for changes, result in zip(standing, results, strict=True)
                if result is not None and observation.agrees(result)
            ]
            standing = kept or standing
        return self._told_by_the_rest(standing)

    def _told_by_the_rest(self, standing: list[Changes]) -> list[Changes]:
        """Return those that explain what no law compares too, if there are any: it tells who wrote what."""
        if len(standing) < 2:
            return standing
        everywhere = [observation.judged_everywhere() for observation in self.observations]
        exact = [
            changes
            for changes in standing
            if all(observation.fits(self.base.changed(*changes)) for observation in everywhere)
        ]
        return exact or standing


def differ(results: Sequence[Array | None]) -> bool:
    """Return whether two of several results are apart, by more than a family's own rounding."""
    first, *others = results
    return any(
        (first is None) != (other is None) or (first is not None and other is not None and not _alike(first, other))
        for other in others
    )


def _alike(first: Array, second: Array) -> bool:
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=1e-6, atol=1e-9, equal_nan=True))
