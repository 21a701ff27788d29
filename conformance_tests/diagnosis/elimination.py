"""Which points of a family return what the implementation returns: single changes first, then pairs.

What contradicts a call is eliminated. Between the points that remain, inputs are drawn until one of them tells two
apart; only then the implementation is called again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.diagnosis.observation import Observation, arguments_of, calm, result_at
from veriformer.conformance_tests.diagnosis.pairs import Changes, Effect, Effects, likeliest_first
from veriformer.conformance_tests.diagnosis.work import Work
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.family import Change, Point
from veriformer.spec.conventions import CONVENTIONS

Observe = Callable[[Inputs], Observation | None]
# Calls that every explanation must stand before it is believed, beyond those that broke laws.
_CONFIRMATIONS = 24
_MOST_TO_CONFIRM = 60
_STEPS_TO_CONFIRM = 10_000
# Of large models calls may take no more than this part of the work: the search needs the rest.
_PART_TO_CONFIRM = 0.4
# Calls on which the effect of every single change is known before pairs are tried: those of about so many entries
# first, of which fewer are explained by chance than of the smallest.
_FIRST = 6
_TELLING_SIZE = 30
# So many must be explained before a pair is tried under other conventions as well.
_CALLS_THAT_SPEAK_FOR_A_PAIR = 2
# When, of the work that is left, to have learned those, and to have tried mistakes beside another value of a
# convention; and how much of it telling apart what explains everything may take.
_EFFECTS_UNTIL = 0.5
_CONVENTIONS_UNTIL = 0.6
_PART_FOR_SEPARATION = 0.5
_LEAST_FOR_SEPARATION = 40_000
_STEPS_FOR_OTHERS = 40_000


@dataclass
class Elimination:
    """The search among the points around `base`, the reference under the implementation's conventions.

    It ends when `work` reaches `end`, in steps. `known` are effects already computed. `doubtful` are calls that went
    wrong where rounding says too little to tell one wrong formula from another, but enough to tell it from the right
    one. `confirmations` are how many calls that no law asked for every explanation must stand.
    """

    base: Point
    observations: list[Observation]
    draws: Iterator[Inputs]
    observe: Observe
    work: Work
    end: float
    declared: Collection[str] = ()
    known: Effects = field(default_factory=Effects)
    doubtful: list[Observation] = field(default_factory=list)
    confirmations: int = _CONFIRMATIONS
    # What the other values change that stand for conventions which nothing told.
    unknown: Sequence[Changes] = ()
    tried: int = 0
    _started: float = field(init=False, default=float("inf"))
    _in_turn: list[int] = field(init=False, default_factory=list)

    @property
    def deviates(self) -> bool:
        """Whether anything was returned that a correct implementation would not return."""
        return any(observation.deviates for observation in self.observations)

    def alone(self) -> list[Changes]:
        """Return the single mistakes that explain every call, beside another convention if need be; empty if none."""
        kinds = [self._singles(), self.base.repeated_changes(), self._under_what_stands(), self._beside_conventions()]
        return self._standing(kinds)

    def in_pairs(self) -> list[Changes]:
        """Return the pairs of mistakes that explain every call, once no single one does; empty where none does."""
        self._started = self.work.done
        return self._standing(map(self._and_conventions, self._pairs()))

    def _standing(self, kinds: Iterable[Iterable[Changes]]) -> list[Changes]:
        for candidates in kinds if self.deviates else ():
            found = self._found(candidates)
            if found:
                return self._separated(found)
        return []

    def _found(self, candidates: Iterable[Changes]) -> list[Changes]:
        """Return those that explain every call; after the first, others are looked for only a little longer."""
        found: list[Changes] = []
        end = float("inf")
        for changes in candidates:
            if self._passed(1.0) or self.work.over(end):
                break
            self.tried += 1
            if not any(set(changes) >= set(one) for one in found) and self.explains(changes):
                found.append(self._needed(changes))
                end = min(end, self.work.done + _STEPS_FOR_OTHERS)
        return found

    def _needed(self, changes: Changes) -> Changes:
        """Return what explains every call, without a mistake of which none of them shows anything."""
        for name in mistakes_of(self.base, changes, self.declared):
            fewer = tuple(change for change in changes if mistake_of(self.base, change) != name)
            if fewer and self.explains(fewer):
                return fewer
        return changes

    def explains(self, changes: Changes) -> bool:
        """Return whether every call is explained, and the doubtful ones rather so than by the right formula."""
        if self._first_unexplained(changes) is not None:
            return False
        point = self.base.changed(*changes)
        self.work.compute(self.work.largest, len(self.doubtful))
        return all(observation.is_nearer(point) for observation in self.doubtful)

    def _passed(self, part: float, ahead: int = 0) -> bool:
        """Return whether more than a part of the work is done, counted from when single mistakes explain nothing.

        Or whether it will be, so many steps `ahead`.
        """
        return self.work.over(min(self._started, self.end) + part * max(self.end - self._started, 0.0), ahead)

    def _singles(self) -> list[Changes]:
        """Return the changes of one decision; to follow a value of a convention that stands is none."""
        standing = {change for changes in self.unknown for change in changes}
        return [(change,) for change in self.base.single_changes() if change not in standing]

    def _under_what_stands(self) -> Iterator[Changes]:
        """Yield each single mistake under the other values that stand, as under the one that laws judged by."""
        for values in self.unknown:
            under = self.base.changed(*values)
            if self.explains(values):
                # No formula is wrong.
                return
            units = (*((change,) for change in under.single_changes()), *under.repeated_changes())
            yield from ((*values, *changes) for changes in units if not _names(values) & _names(changes))

    def _beside_conventions(self) -> Iterator[Changes]:
        """Yield mistakes with another value of one convention: a mistake can hide what was to be inferred.

        The value may wait for what the mistake makes of a call: rows are empty, perhaps, since a mask is inverted.
        """
        self._started = self.work.done
        mistakes, swaps = self._mistakes(), self._swaps()
        first = self._first_calls(mistakes)
        for changes in mistakes:
            effects = [self._effect(changes, number) for number in range(first)]
            if self._passed(_CONVENTIONS_UNTIL):
                return
            if all(effect.defined for effect in effects) and any(effect.moves for effect in effects):
                yield from self._beside(changes, swaps)

    def _swaps(self) -> list[Changes]:
        """Return what another value of each convention changes that was not declared, in all decisions it settles."""
        swaps: dict[tuple[str, str], list[Change]] = {}
        numbers_only = not any(np.isnan(observation.output).any() for observation in self.observations)
        for change in self.base.single_changes():
            if is_convention(self.base, change, self.declared) and not (numbers_only and change[1] == "nan"):
                name = self.base.family.all_decisions[change[0]].convention
                swaps.setdefault((name, change[1]), []).append(change)
        return [tuple(changes) for changes in swaps.values()]

    def _and_conventions(self, pairs: Iterable[Changes]) -> Iterator[Changes]:
        """Yield pairs; after one that explains the first calls, the same under another value of a convention."""
        swaps = self._swaps()
        for changes in pairs:
            yield changes
            yield from self._beside(changes, swaps, least=_CALLS_THAT_SPEAK_FOR_A_PAIR)

    def _beside(self, changes: Changes, swaps: Sequence[Changes], least: int = 0) -> Iterator[Changes]:
        """Yield changes with those values of conventions that explain the first call which they leave unexplained.

        Only those are tried that explain `least` calls before it.
        """
        place = self._first_unexplained(changes)
        if place is None or place < least:
            return
        number = self._in_turn[place]
        apart = ((*changes, *swap) for swap in swaps if not _names(changes) & _names(swap))
        found = [beside for beside in apart if self._effect(beside, number).fits]
        for beside in found:
            yield beside
            self._ask_first_what_refutes(beside)
        if not found:
            self._ask_first_what_refutes(changes)

    def _ask_first_what_refutes(self, changes: Changes) -> None:
        """Move a call that refutes what explains many others to the front: it refutes the next ones sooner."""
        place = self._first_unexplained(changes)
        if place is not None and place >= _CALLS_THAT_SPEAK_FOR_A_PAIR:
            self._in_turn.insert(0, self._in_turn.pop(place))

    def _first_unexplained(self, changes: Changes) -> int | None:
        """Return the place, among the calls in turn, of the first that is not explained; None where all are.

        Those with NaN come last: in rows without a key it is a matter of convention, whatever is wrong beside it.
        """
        if len(self._in_turn) != len(self.observations):
            with_nan = [bool(np.isnan(observation.output).any()) for observation in self.observations]
            self._in_turn = sorted(range(len(with_nan)), key=with_nan.__getitem__)
        places = enumerate(self._in_turn)
        return next((place for place, number in places if not self._effect(changes, number).fits), None)

    def _pairs(self) -> Iterator[Iterator[Changes]]:
        """Yield the pairs that the first calls speak for, then the others."""
        mistakes = self._mistakes()
        first = range(self._first_calls(mistakes))
        effects = [[self._effect(changes, number) for changes in mistakes] for number in first]
        for places in likeliest_first(mistakes, effects, self.observations[: len(first)]):
            yield ((*mistakes[one], *mistakes[other]) for one, other in places)

    def _mistakes(self) -> list[Changes]:
        """Return the changes that make a mistake, in one place or in several, those that explain most alone first."""
        units = [*self._singles(), *self.base.repeated_changes()]
        mistakes = [
            changes
            for changes in units
            if not any(is_convention(self.base, change, self.declared) for change in changes)
        ]
        first = self._first_calls(mistakes)

        def merit(changes: Changes) -> float:
            effects = [self._effect(changes, number) for number in range(first)]
            return sum(effect.fits + effect.share for effect in effects)

        return sorted(mistakes, key=merit, reverse=True)

    def _first_calls(self, units: Sequence[Changes]) -> int:
        """Return on how many of the calls the effect of every change alone is known, or becomes known in time."""
        for number in range(min(_FIRST, len(self.observations))):
            observation = self.observations[number]
            known = (units[-1], observation) in self.known.of_changes
            if number and not known and self._passed(_EFFECTS_UNTIL, ahead=len(units) * observation.steps):
                return number
            for changes in units:
                if self._passed(1.0):
                    return number
                self._effect(changes, number)
        return min(_FIRST, len(self.observations))

    def _effect(self, changes: Changes, number: int) -> Effect:
        observation = self.observations[number]
        if (changes, observation) not in self.known.of_changes:
            self.work.compute(observation.steps)
        return self.known.of(self.base, changes, observation)

    def confirm(self) -> None:
        """Add calls that no law asked for: an explanation of a violation must explain what is right as well."""
        self.observations.sort(key=lambda one: (not one.deviates, abs(one.size - _TELLING_SIZE)))
        wanted, started = self.confirmations, self.work.done
        cheap = started + _STEPS_TO_CONFIRM
        last = max(cheap, started + _PART_TO_CONFIRM * (self.end - started))
        for number, inputs in zip(range(_MOST_TO_CONFIRM), self.draws, strict=False):
            # What rounding leaves too little to see of is made up for while that is cheap.
            if wanted <= 0 or self.work.over(last if number < self.confirmations else cheap):
                break
            observation = self.observe(inputs)
            if observation is not None and observation.says_much:
                self.observations.append(observation)
                wanted -= 1
            elif observation is not None and observation.deviates and not observation.deviates_from_nan_alone:
                self.doubtful.append(observation)
        self.observations = calm(self.observations)

    def _separated(self, standing: list[Changes]) -> list[Changes]:
        """Return those that remain after calls on inputs that tell them apart."""
        now = self.work.done
        end = now + max(_LEAST_FOR_SEPARATION, _PART_FOR_SEPARATION * (self.end - now))
        for inputs in self.draws:
            different = {mistakes_of(self.base, changes, self.declared) for changes in standing}
            if len(different) < 2 or self.work.over(end):
                break
            self.work.compute(self.work.largest, len(standing))
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


def _names(changes: Changes) -> set[str]:
    return {name for name, _ in changes}


def is_convention(base: Point, change: Change, declared: Collection[str] = ()) -> bool:
    """Return whether correct libraries differ so, in what was not declared to be as `base` has it."""
    name = base.family.all_decisions[change[0]].convention
    return bool(name) and name not in declared and change[1] in CONVENTIONS[name].inferred_values


def mistakes_of(base: Point, changes: Changes, declared: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of the mistakes among the changes; another value of a convention only where it is alone.

    To do otherwise than was `declared` is a mistake like others.
    """
    kept = [change for change in changes if not is_convention(base, change, declared)] or changes
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
