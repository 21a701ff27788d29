"""Which points of a family give the results of the implementation: single changes first, then pairs.

A point that contradicts a call is eliminated. To tell apart the points that remain, inputs are drawn until two points
give different results, and only on those inputs is the implementation called again.
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
# Every explanation must also fit so many calls that no law asked for: by chance a wrong one fits the few, small calls
# that broke laws. More are made where rounding hides too much of some, while they are cheap.
_CONFIRMATIONS = 24
_MOST_TO_CONFIRM = 60
_STEPS_TO_CONFIRM = 10_000
# The calls of large models may take this part of the work at most, because the search needs the rest.
_PART_TO_CONFIRM = 0.4
# On so many calls the effect of every single change is computed before pairs are tried, because the effects say which
# pairs are likely. Calls of about so many entries come first: smaller ones are explained by chance more often.
_FIRST = 6
_TELLING_SIZE = 30
# So many of the mistakes that explain most are tried beside harmless choices before pairs are put in order, and so
# many of the likeliest pairs whatever they explain.
_TRIED_BESIDE_CHOICES = 40
# Other pairs must explain so many calls before they are tried under other conventions too: there are too many
# combinations.
_CALLS_THAT_SPEAK_FOR_A_PAIR = 2
# Shares of the remaining work at which the search for effects ends, at which single mistakes with another value of a
# convention end, and which telling apart the explanations found may take, with the least that this may take in steps.
_EFFECTS_UNTIL = 0.5
_CONVENTIONS_UNTIL = 0.6
_PART_FOR_SEPARATION = 0.5
_LEAST_FOR_SEPARATION = 40_000
_STEPS_FOR_OTHERS = 40_000


@dataclass
class Elimination:
    """The search among the points around `base`, the reference under the implementation's conventions.

    It ends when `work` reaches `end`, in steps. `known` are effects already computed. `doubtful` are calls with a wrong
    result in which rounding hides which formula is wrong, but not that it is wrong. Every explanation must fit
    `confirmations` calls that no law asked for.
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
    # The changes that follow another value of a convention that is unknown.
    unknown: Sequence[Changes] = ()
    tried: int = 0
    # The pairs that nothing speaks against from the start and that were not tried yet.
    pairs_left: int = 0
    _started: float = field(init=False, default=float("inf"))
    _in_turn: list[int] = field(init=False, default_factory=list)

    @property
    def deviates(self) -> bool:
        """Whether anything was returned that a correct implementation would not return."""
        return any(observation.deviates for observation in self.observations)

    def alone(self) -> list[Changes]:
        """Return the single mistakes that explain every call, alone or with another convention; empty if none does."""
        kinds = [self._singles(), self.base.repeated_changes(), self._under_what_stands(), self._with_conventions()]
        return self._standing(kinds)

    def in_pairs(self) -> list[Changes]:
        """Return the pairs of mistakes that explain every call, where no single one does; empty if none does."""
        self._started = self.work.done
        return self._standing(map(self._and_conventions, self._pairs()))

    def _standing(self, kinds: Iterable[Iterable[Changes]]) -> list[Changes]:
        for candidates in kinds if self.deviates else ():
            found = self._found(candidates)
            if found:
                return self._separated(found)
        return []

    def _found(self, candidates: Iterable[Changes]) -> list[Changes]:
        """Return the candidates that explain every call; after the first, the search goes on for a little work only."""
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
        """Return what explains every call, without a mistake or another choice that shows in none of them."""
        for name in mistakes_of(self.base, changes, self.declared):
            fewer = tuple(change for change in changes if mistake_of(self.base, change) != name)
            if fewer and self.explains(fewer):
                changes = fewer
                break
        wrong = mistakes_of(self.base, changes, self.declared)
        for other in [change for change in changes if mistake_of(self.base, change) not in wrong]:
            fewer = tuple(change for change in changes if change != other)
            if self.explains(fewer):
                changes = fewer
        return changes

    def explains(self, changes: Changes) -> bool:
        """Return whether the changes explain every call, and the doubtful ones better than the right formula does."""
        if self._first_unexplained(changes) is not None:
            return False
        point = self.base.changed(*changes)
        self.work.compute(self.work.largest, len(self.doubtful))
        return all(one.is_nearer(point) or one.is_noise_beside(point) for one in self.doubtful)

    def _passed(self, part: float, ahead: int = 0) -> bool:
        """Return whether a part of the remaining work is done, or will be after so many steps `ahead`.

        The remaining work is that from the end of the single mistakes on.
        """
        return self.work.over(min(self._started, self.end) + part * max(self.end - self._started, 0.0), ahead)

    def _singles(self) -> list[Changes]:
        """Return the changes of one decision, without those that only follow a value of an unknown convention."""
        standing = {change for changes in self.unknown for change in changes}
        return [(change,) for change in self.base.single_changes() if change not in standing]

    def _under_what_stands(self) -> Iterator[Changes]:
        """Yield each single mistake under the other values of unknown conventions."""
        harmless = tuple(self.base.harmless_changes())
        for values in self.unknown:
            under = self.base.changed(*values)
            if self.explains(values):
                # No formula is wrong.
                return
            units = (*((change,) for change in under.single_changes()), *under.repeated_changes())
            for changes in (one for one in units if not _names(values) & _names(one)):
                yield (*values, *changes)
                yield from self._with_swaps((*values, *changes), harmless, least=1)

    def _with_conventions(self) -> Iterator[Changes]:
        """Yield mistakes together with a harmless choice or another value of one convention, which they kept from being
        inferred.

        The value may show only through the mistake: rows may be empty because a mask is inverted.
        """
        self._started = self.work.done
        mistakes, swaps = self._mistakes(), self._swaps()
        first = self._first_calls(mistakes)
        for changes in mistakes:
            effects = [self._effect(changes, number) for number in range(first)]
            if self._passed(_CONVENTIONS_UNTIL):
                return
            if all(effect.defined for effect in effects) and any(effect.moves for effect in effects):
                yield from self._with_swaps(changes, swaps)

    def _swaps(self) -> list[Changes]:
        """Return the harmless changes, and those that follow each other value of the conventions not declared."""
        swaps: dict[tuple[str, str], list[Change]] = {}
        numbers_only = not any(np.isnan(observation.output).any() for observation in self.observations)
        for change in self.base.single_changes():
            if is_convention(self.base, change, self.declared) and not (numbers_only and change[1] == "nan"):
                name = self.base.family.all_decisions[change[0]].convention
                swaps.setdefault((name, change[1]), []).append(change)
        return [*self.base.harmless_changes(), *map(tuple, swaps.values())]

    def _and_conventions(self, pairs: Iterable[Changes]) -> Iterator[Changes]:
        """Yield the pairs; after the likeliest, and after one that explains the first calls, the same with a harmless
        choice or another value of a convention.
        """
        swaps = self._swaps()
        for number, changes in enumerate(pairs):
            yield changes
            least = 0 if number < _TRIED_BESIDE_CHOICES else _CALLS_THAT_SPEAK_FOR_A_PAIR
            yield from self._with_swaps(changes, swaps, least)

    def _with_swaps(self, changes: Changes, swaps: Sequence[Changes], least: int = 0) -> Iterator[Changes]:
        """Yield the changes with each value of a convention that explains the first call that they do not explain.

        Nothing is tried for changes that explain fewer than `least` calls.
        """
        place = self._first_unexplained(changes)
        if place is None or place < least:
            return
        number = self._in_turn[place]
        apart = ((*changes, *swap) for swap in swaps if not _names(changes) & _names(swap))
        found = [together for together in apart if self._effect(together, number).fits]
        for together in found:
            yield together
            self._ask_first_what_refutes(together)
        if not found:
            self._ask_first_what_refutes(changes)

    def _ask_first_what_refutes(self, changes: Changes) -> None:
        """Move the call that refutes changes which explain others to the front: it refutes the next ones sooner."""
        place = self._first_unexplained(changes)
        if place is not None and place >= _CALLS_THAT_SPEAK_FOR_A_PAIR:
            self._in_turn.insert(0, self._in_turn.pop(place))

    def _first_unexplained(self, changes: Changes) -> int | None:
        """Return the place of the first call that the changes do not explain; None where they explain all.

        Calls with NaN in the result come last: NaN in rows without a key is a convention, whatever else is wrong.
        """
        if len(self._in_turn) != len(self.observations):
            with_nan = [bool(np.isnan(observation.output).any()) for observation in self.observations]
            self._in_turn = sorted(range(len(with_nan)), key=with_nan.__getitem__)
        places = enumerate(self._in_turn)
        return next((place for place, number in places if not self._effect(changes, number).fits), None)

    def _pairs(self) -> Iterator[Iterator[Changes]]:
        """Yield the pairs that the first calls make likely, then the others."""
        mistakes = self._mistakes()
        first = range(self._first_calls(mistakes))
        effects = [list(self._effects_or_beside_a_choice(mistakes, number)) for number in first]
        likely, others, self.pairs_left = likeliest_first(mistakes, effects, self.observations[: len(first)])
        for places in (likely, others):
            yield self._counted((*mistakes[one], *mistakes[other]) for one, other in places)

    def _effects_or_beside_a_choice(self, mistakes: Sequence[Changes], number: int) -> Iterator[Effect]:
        """Yield the effect of every mistake on a call: with a harmless choice where it explains the call only so.

        Otherwise a call which one of two mistakes explains beside the choice speaks against them both.
        """
        choices = list(self.base.harmless_changes())
        for place, changes in enumerate(mistakes):
            alone = self._effect(changes, number)
            beside = choices if place < _TRIED_BESIDE_CHOICES and alone.moves and not alone.fits else []
            apart = ((*changes, *choice) for choice in beside if not _names(changes) & _names(choice))
            yield next((effect for one in apart if (effect := self._effect(one, number)).fits), alone)

    def _counted(self, pairs: Iterable[Changes]) -> Iterator[Changes]:
        for pair in pairs:
            yield pair
            self.pairs_left -= 1

    def _mistakes(self) -> list[Changes]:
        """Return the mistakes, each made in one place or in several; those that explain most alone come first."""
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
        """Return on how many calls the effect of every single change is known, or can be computed in time."""
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
        """Add calls that no law asked for: an explanation must explain right results as well as wrong ones."""
        self.observations.sort(key=lambda one: (not one.deviates, abs(one.size - _TELLING_SIZE)))
        wanted, started = self.confirmations, self.work.done
        cheap = started + _STEPS_TO_CONFIRM
        last = max(cheap, started + _PART_TO_CONFIRM * (self.end - started))
        for number, inputs in zip(range(_MOST_TO_CONFIRM), self.draws, strict=False):
            # Calls in which rounding hides too much are replaced while that is cheap.
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
        """Return the explanations that remain after calls on inputs that tell them apart."""
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
        """Return the explanations that also give the entries that no law compares, if any does; else all."""
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
    """Return whether a change follows another value of a convention, one that may be inferred and was not declared."""
    name = base.family.all_decisions[change[0]].convention
    return bool(name) and name not in declared and change[1] in CONVENTIONS[name].inferred_values


def is_harmless(base: Point, change: Change) -> bool:
    """Return whether a change breaks no law by itself, and shows beside a mistake only."""
    name, option = change
    return base.family.all_decisions[name].option(option).status == "harmless"


def mistakes_of(base: Point, changes: Changes, declared: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of the mistakes among the changes; another value of a convention only where it is alone.

    A departure from a `declared` convention is a mistake like others. Harmless changes are none.
    """
    wrong = [change for change in changes if not is_harmless(base, change)]
    kept = [change for change in wrong if not is_convention(base, change, declared)] or wrong
    return tuple(sorted({mistake_of(base, change) for change in kept}))


def mistake_of(base: Point, change: Change) -> str:
    """Return the slug of the mistake that a change is; where it has none, the decision and the option."""
    name, option = change
    decision = base.family.all_decisions[name]
    # A departure from a convention is one mistake, whichever other value is followed: the option with a slug names it.
    left = base.option(name).slug if decision.convention else ""
    return decision.option(option).slug or left or f"{name}={option}"


def differ(results: Sequence[Array | None]) -> bool:
    """Return whether two of several results differ by more than a family's own rounding."""
    first, *others = results
    return any(
        (first is None) != (other is None) or (first is not None and other is not None and not _alike(first, other))
        for other in others
    )


def _alike(first: Array, second: Array) -> bool:
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=1e-6, atol=1e-9, equal_nan=True))
