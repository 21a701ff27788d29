"""The order in which pairs of mistakes are tried, by what each mistake alone does to a few calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from veriformer.conformance_tests.diagnosis.observation import Observation, result_at
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.family import Change, Point

Changes = tuple[Change, ...]
# A result that is not finite counts as so many times the largest deviation.
_FAR = 10.0


@dataclass(frozen=True, eq=False)
class Effect:
    """What a change alone does to a call: whether it is defined, moves the result, and gives the one that came.

    `share` is the part of what was wrong that it explains, `difference` what it adds to the right result.
    """

    defined: bool
    moves: bool
    fits: bool
    share: float
    difference: Array


@dataclass
class Effects:
    """What changes do to calls, each computed once. Most changes do the same as another, such as nothing."""

    of_changes: dict[tuple[Changes, Observation], Effect] = field(default_factory=dict)
    of_results: dict[tuple[bytes, Observation], Effect] = field(default_factory=dict)

    def of(self, base: Point, changes: Changes, observation: Observation) -> Effect:
        """Return what the point that differs from `base` by some changes does to a call."""
        if (changes, observation) not in self.of_changes:
            result = result_at(base.changed(*changes), observation.arguments)
            self.of_changes[changes, observation] = self._of_result(result, observation)
        return self.of_changes[changes, observation]

    def _of_result(self, result: Array | None, observation: Observation) -> Effect:
        if result is None or result.shape != observation.output.shape:
            return _without_result(observation, defined=result is not None)
        key = result.tobytes(), observation
        if key not in self.of_results:
            self.of_results[key] = _effect(result, observation)
        return self.of_results[key]


def _without_result(observation: Observation, *, defined: bool) -> Effect:
    nothing = np.zeros(observation.output.size)
    return Effect(defined, defined, fits=False, share=0.0, difference=nothing)


def _effect(result: Array, observation: Observation) -> Effect:
    moves, fits = observation.moved(result), observation.agrees(result)
    share = observation.share(result) if moves else 0.0
    return Effect(defined=True, moves=moves, fits=fits, share=share, difference=_difference(result, observation))


def _difference(result: Array, observation: Observation) -> Array:
    """Return how far a result is from the right one, entry by entry; 0 where nothing is compared."""
    compared = observation.judged & np.isfinite(observation.output) & np.isfinite(observation.right)
    with np.errstate(invalid="ignore"):
        wrong = np.where(compared, observation.output - observation.right, 0.0)
        difference = np.where(compared, result - observation.right, 0.0)
    far = _FAR * float(np.abs(wrong).max(initial=0.0))
    return np.asarray(np.nan_to_num(np.clip(difference, -far, far), nan=far).ravel())


def likeliest_first(
    mistakes: Sequence[Changes], effects: Sequence[Sequence[Effect]], observations: Sequence[Observation]
) -> tuple[Iterator[tuple[int, int]], Iterator[tuple[int, int]], int]:
    """Return the pairs of mistakes, by their places, that the calls make likely, the others, and how many there are.

    The effects are those of every mistake on each call. The pairs whose effects add up to what is wrong come first. The
    others remain possible, because on small calls one mistake may act only through another: with a single logit a wrong
    exponent shows only where the normaliser is wrong too.
    """
    possible = _apart(mistakes)
    left = np.zeros(possible.shape)
    likely = possible
    for on_call, observation in zip(effects, observations, strict=True):
        likely = likely & _may_explain(on_call, right=not observation.deviates)
        left = left + _left_by_sums(on_call, _difference(observation.output, observation))
    return _in_order(likely, left), _in_order(possible & ~likely, left), int(np.triu(possible, 1).sum())


def _in_order(chosen: Array, left: Array) -> Iterator[tuple[int, int]]:
    """Yield the chosen pairs one by one: there may be a hundred thousand, of which some hundreds can be tried."""
    ones, others = np.nonzero(np.triu(chosen, 1))
    order = np.lexsort((ones + others, left[ones, others]))
    yield from ((int(ones[place]), int(others[place])) for place in order)


def _apart(mistakes: Sequence[Changes]) -> Array:
    """Return for every two mistakes whether they are choices in different decisions."""
    decisions = {name: place for place, name in enumerate(sorted({name for one in mistakes for name, _ in one}))}
    choice = np.zeros((len(mistakes), len(decisions)))
    for place, changes in enumerate(mistakes):
        choice[place, [decisions[name] for name, _ in changes]] = 1.0
    return np.asarray(choice @ choice.T == 0.0)


def _may_explain(effects: Collection[Effect], *, right: bool) -> Array:
    """Return for every two mistakes whether they could explain a call together.

    If only one of them changes anything, that one must explain it.
    """
    defined = np.array([effect.defined for effect in effects])
    moves = np.array([effect.moves for effect in effects])
    alone = moves & np.array([effect.fits for effect in effects])
    neither = ~moves[:, None] & ~moves & right
    one = (alone[:, None] & ~moves) | (~moves[:, None] & alone)
    return np.asarray(defined[:, None] & defined & ((moves[:, None] & moves) | one | neither))


def _left_by_sums(effects: Collection[Effect], wrong: Array) -> Array:
    """Return the part of the deviation w that every two effects a and b leave: |w − a − b|² / |w|², at most 1."""
    size = float(wrong @ wrong)
    if size == 0.0:
        return np.zeros((len(effects), len(effects)))
    differences = np.stack([effect.difference for effect in effects])
    products = differences @ differences.T
    squares, along = np.diag(products), differences @ wrong
    rest = squares[:, None] + squares + size + 2.0 * (products - along[:, None] - along)
    # Rounded, so that pairs which leave nearly the same are ordered by what each mistake explains alone.
    return np.asarray(np.round(np.clip(rest / size, 0.0, 1.0), 2))
