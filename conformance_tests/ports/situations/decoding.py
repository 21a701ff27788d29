"""Sequences that are continued with a cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from veriformer.adapters.errors import LoadError
from veriformer.adapters.whole_models.again import Run
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.findings import Cause, Situation
from veriformer.conformance_tests.ports.situations.both import Both, Outcome, as_a_whole, rows_apart

_NAME = "with a cache"
_PARTS = ((3, 1, 1, 1), (2, 3, 1))


def continued(both: Both) -> Iterator[Outcome]:
    """Yield whether B gives with its cache what A gives: with a cache if it has one, else for the whole sequence."""
    has = [one.caching for one in both.offers]
    if not any(has) or both.longest < sum(_PARTS[0]):
        return
    if not has[1]:
        yield Outcome(
            Situation(_NAME, "unknown", "A continues sequences with a cache, and no way to do so was found in B")
        )
        return
    for parts in _PARTS:
        found = _in_parts(both, parts, first_has=has[0])
        if found.situation.status != "same":
            break
    yield found


def _in_parts(both: Both, parts: tuple[int, ...], *, first_has: bool) -> Outcome:
    whole = Run(both.drawn(2, sum(parts)))
    fed = replace(whole, parts=parts)
    try:
        first = both.first.results(fed if first_has else whole)
        second = both.second.results(fed)
        wholes = both.first.results(whole), both.second.results(whole)
    except LoadError as error:
        return Outcome(Situation(_NAME, "unknown", str(error)))
    apart = rows_apart(first, second)
    if apart <= both.bound:
        sentence = "" if first_has else "A has none, so that B with its cache was compared with A on whole sequences"
        return Outcome(Situation(_NAME, "same", sentence, apart))
    sentence = _sentence(both, (first, second), wholes, parts)
    cause = Cause("mistake", "cache", sentence, 1.0, f"B's cache: {sentence}")
    situation = Situation(_NAME, "differs", f"the results differ by {apart:.1e} of the largest entry", apart)
    return Outcome(situation, (as_a_whole(_NAME, "cache", cause),))


def _sentence(both: Both, fed: tuple[Array, Array], wholes: tuple[Array, Array], parts: tuple[int, ...]) -> str:
    """Return which of the two gives with its cache another result than for the whole sequence, and from where on."""
    off = [rows_apart(whole, part) > both.bound for whole, part in zip(wholes, fed, strict=True)]
    where = "" if not off[1] else f" from position {_first_off(both, wholes[1], fed[1])} on"
    fed_in = "parts of " + ", ".join(map(str, parts))
    if off == [False, True]:
        return f"fed in {fed_in}, B gives another result than for the whole sequence{where}; A gives the same"
    if off == [True, False]:
        return f"fed in {fed_in}, it is A that gives another result than for the whole sequence; B gives the same"
    return f"fed in {fed_in}, A and B give different results{where}"


def _first_off(both: Both, whole: Array, fed: Array) -> int:
    """Return the first position at which results differ."""
    positions = range(whole.shape[1])
    return next((at for at in positions if rows_apart(whole[:, : at + 1], fed[:, : at + 1]) > both.bound), 0)
