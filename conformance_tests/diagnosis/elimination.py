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
from veriformer.spec.conventions import CONVENTIONS

Changes = tuple[Change, ...]
Observe = Callable[[Inputs], Observation | None]
# Calls that every explanation must stand before it is believed, beyond those that broke laws.
_CONFIRMATIONS = 8
# Calls on which the effect of every single change is known before pairs are tried.
_FIRST = 6


@dataclass(frozen=True)
class _Effect:
    """What a change alone does to a call: whether it would run, give another result, and the one that came."""

    defined: bool
    moves: bool
    fits: bool


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
    _of_change: dict[Change, list[_Effect]] = field(init=False, default_factory=dict)

    def standing(self) -> list[Changes]:
        """Return the changes that explain every call, the simplest kind that any does; empty where none does."""
        self.observations.sort(key=lambda observation: (not observation.deviates, observation.size))
        drawn = iter(self.draws)
        self._confirm(drawn)
        # Counted from here: the first calls may have been compiled.
        self._deadline = time.process_time() + self.seconds
        likely, unlikely = (self._pairs(likely=likely) for likely in (True, False))
        for candidates in (self._singles(), self._beside_conventions(), likely, unlikely):
            found = [changes for changes in candidates if self._explains(changes)]
            if found:
                return self._separated(found, drawn)
        return []

    def _explains(self, changes: Changes) -> bool:
        if time.process_time() > self._deadline:
            return False
        self.tried += 1
        point = self.base.changed(*changes)
        return all(observation.fits(point) for observation in self.observations)

    def _singles(self) -> list[Changes]:
        return [(change,) for change in self.base.single_changes()]

    def _beside_conventions(self) -> Iterator[Changes]:
        """Return single changes with another value of one convention: a mistake can hide what was to be inferred."""
        swaps = [change for change in self.base.single_changes() if is_convention(self.base, change)]
        return ((change, swap) for change in self._mistakes() for swap in swaps if self._may_explain(change, swap))

    def _pairs(self, *, likely: bool) -> Iterator[Changes]:
        """Yield the pairs that the first calls speak for, or the others, in which one may act only through the other.

        That happens on small calls: of one logit the exponent shows in nothing, unless the normaliser is wrong too.
        """
        if time.process_time() > self._deadline:
            return
        mistakes = self._mistakes()
        merit = {change: rank for rank, change in enumerate(mistakes)}
        pairs = [pair for pair in combinations(mistakes, 2) if pair[0][0] != pair[1][0]]
        chosen = [pair for pair in pairs if self._may_explain(*pair) is likely]
        yield from sorted(chosen, key=lambda pair: merit[pair[0]] + merit[pair[1]])

    def _mistakes(self) -> list[Change]:
        """Return the changes that are mistakes, in the order of how many of the first calls each explains alone."""
        mistakes = [change for change in self.base.single_changes() if not is_convention(self.base, change)]
        return sorted(mistakes, key=lambda change: -sum(effect.fits for effect in self._effects(change)))

    def _may_explain(self, first: Change, second: Change) -> bool:
        """Return whether two changes of different decisions could explain the first calls together.

        A call on which only one of them changes anything must be explained by that one.
        """
        if first[0] == second[0]:
            return False
        for observation, a, b in zip(self.observations, self._effects(first), self._effects(second), strict=False):
            if not (a.defined and b.defined):
                return False
            moving = [effect for effect in (a, b) if effect.moves]
            explained = moving[0].fits if moving else not observation.deviates
            if len(moving) < 2 and not explained:
                return False
        return True

    def _effects(self, change: Change) -> list[_Effect]:
        if change not in self._of_change:
            point = self.base.changed(change)
            self._of_change[change] = [_effect(point, observation) for observation in self.observations[:_FIRST]]
        return self._of_change[change]

    def _confirm(self, drawn: Iterator[Inputs]) -> None:
        """Add calls that no law asked for: an explanation of a violation must explain what is right as well."""
        for _, inputs in zip(range(_CONFIRMATIONS), drawn, strict=False):
            observation = self.observe(inputs)
            if observation is not None and observation.says_much:
                self.observations.append(observation)

    def _separated(self, standing: list[Changes], drawn: Iterator[Inputs]) -> list[Changes]:
        """Return those that remain after calls on inputs that tell them apart."""
        for inputs in drawn:
            if (
                len({mistakes_of(self.base, changes) for changes in standing}) < 2
                or time.process_time() > self._deadline
            ):
                break
            results = [result_at(self.base.changed(*changes), arguments_of(inputs)) for changes in standing]
            observation = self.observe(inputs) if differ(results) else None
            if observation is None or not observation.says_much:
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


def _effect(point: Point, observation: Observation) -> _Effect:
    result = result_at(point, observation.arguments)
    if result is None:
        return _Effect(defined=False, moves=False, fits=False)
    return _Effect(defined=True, moves=observation.moved(result), fits=observation.agrees(result))


def is_convention(base: Point, change: Change) -> bool:
    """Return whether correct libraries differ so: other values of a convention are mistakes unless declared."""
    name = base.family.all_decisions[change[0]].convention
    return bool(name) and change[1] in CONVENTIONS[name].inferred_values


def mistakes_of(base: Point, changes: Changes) -> tuple[str, ...]:
    """Return the names of the mistakes among the changes; another value of a convention only where it is alone."""
    kept = [change for change in changes if not is_convention(base, change)] or changes
    return tuple(sorted({mistake_of(base, change) for change in kept}))


def mistake_of(base: Point, change: Change) -> str:
    """Return the slug of the mistake that a change is; where it has none, the decision and the option."""
    name, option = change
    decision = base.family.all_decisions[name]
    # To leave a convention is one mistake, whichever of its values is meant: the option that bears a slug names it.
    left = base.option(name).slug if decision.convention else ""
    return decision.option(option).slug or left or f"{name}={option}"


def differ(results: Sequence[Array | None]) -> bool:
    """Return whether two of several results are apart, by more than a family's own rounding."""
    first, *others = results
    return any(
        (first is None) != (other is None) or (first is not None and other is not None and not _alike(first, other))
        for other in others
    )


def _alike(first: Array, second: Array) -> bool:
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=1e-6, atol=1e-9, equal_nan=True))
