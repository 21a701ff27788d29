"""In which order pairs of mistakes are tried: what each does alone to a few calls says what two may do together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.diagnosis.observation import Array, Observation, result_at
from veriformer.conformance_tests.families.family import Change, Point

Changes = tuple[Change, ...]
# A result that is not finite counts as so many times further off than what is to be explained.
_FAR = 10.0


@dataclass(frozen=True, eq=False)
class Effect:
    """What a change alone does to a call: whether it would run, give another result, and the one that came.

    `share` is the part of what was wrong that it explains, `difference` what it adds to the right result.
    """

    defined: bool
    moves: bool
    fits: bool
    share: float
    difference: Array


def effect(point: Point, observation: Observation) -> Effect:
    """Return what a point of the family does to a call."""
    result = result_at(point, observation.arguments)
    if result is None or result.shape != observation.output.shape:
        nothing = np.zeros(observation.output.size)
        return Effect(result is not None, result is not None, fits=False, share=0.0, difference=nothing)
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
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of mistakes, by their places, that the calls speak for, and the others.

    The effects are those of every mistake on each call. On small calls one mistake may act only through another: of one
    logit the exponent shows in nothing, unless the normaliser is wrong too. First come those pairs whose effects add up
    to what is wrong, and of these the mistakes that come first.
    """
    possible = _apart(mistakes)
    left = np.zeros(possible.shape)
    likely = possible
    for on_call, observation in zip(effects, observations, strict=True):
        likely = likely & _may_explain(on_call, right=not observation.deviates)
        left = left + _left_by_sums(on_call, _difference(observation.output, observation))
    return _in_order(likely, left), _in_order(possible & ~likely, left)


def _in_order(chosen: Array, left: Array) -> list[tuple[int, int]]:
    places = np.argwhere(np.triu(chosen, 1))
    order = np.lexsort((places.sum(axis=1), left[places[:, 0], places[:, 1]]))
    return [(int(one), int(other)) for one, other in places[order]]


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
    """Return which part of what is wrong the sum of every two effects leaves: |w − a − b|² / |w|², at most 1."""
    size = float(wrong @ wrong)
    if size == 0.0:
        return np.zeros((len(effects), len(effects)))
    differences = np.stack([effect.difference for effect in effects])
    products = differences @ differences.T
    squares, along = np.diag(products), differences @ wrong
    rest = squares[:, None] + squares + size + 2.0 * (products - along[:, None] - along)
    # Rounded, so that what is as good as the same is told apart by what each explains alone.
    return np.asarray(np.round(np.clip(rest / size, 0.0, 1.0), 2))
