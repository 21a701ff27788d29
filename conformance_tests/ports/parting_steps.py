"""Steps that only one of two models takes before both do the same."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.ports.arrangements import factor_in_words
from veriformer.conformance_tests.ports.findings import Cause, CauseKind
from veriformer.conformance_tests.ports.parting import Behind, Parting, Partings
from veriformer.conformance_tests.ports.parting_told import LIKELY, Told, described, said

_MOST_NAMED, _MOST_BETWEEN = 4, 12


def of_steps_left_out(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that the first model does something to a value first, which the second one takes as it is."""
    found = _left_out(of, one)
    if found is None:
        return
    places, value = found
    what = described(of.second, value)
    words, names = _in_words(of.first, places)
    factor = of.first.formula(places[0]).constant if len(places) == 1 else None
    if factor is not None and of.first.formula(places[0]).name == "factor":
        times = factor_in_words(factor, of.second.flow.shape(value))
        sentence = f"A multiplies {what} by {times} first, and B does not"
        yield said(one, "factor", "scaled", sentence, LIKELY, f"multiply {what} by {times} first", places[0])
        return
    sentence = f"A does something to {what} first, and B takes it as it is: {words}"
    change = f"do to {what} what A does first: {words}"
    yield Told(Cause("mistake", "missing", sentence, LIKELY, change), places[0], one.second.step, names[:1])


def of_additional_steps(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that the second model does something to a value first, which the first one takes as it is."""
    for other in of.exchanged.all:
        found = _left_out(of.exchanged, other)
        if found is None or one.second.step not in found[0]:
            continue
        places, value = found
        words, names = _in_words(of.second, places)
        sentence = f"B does something to {described(of.first, value)} first, and A takes it as it is: {words}"
        formula = of.second.formula(places[0])
        kind: CauseKind = "factor" if len(places) == 1 and formula.name == "factor" else "mistake"
        name = "scaled" if kind == "factor" else "additional"
        change = f"take {described(of.first, value)} as it is, without {words}"
        yield Told(Cause(kind, name, sentence, LIKELY, change), other.second.step, places[0], (), names[:1])


def _left_out(of: Partings, one: Parting) -> tuple[list[int], int] | None:
    """Return the steps that the first model takes between a value that both have and what the second one does to it."""
    for place in _alike(of, one):
        for operand in of.first.flow.steps[place].operands:
            if operand not in of.first.frontier.beyond:
                continue
            for value in one.second.common:
                if of.second.frontier.is_weight(value) and of.second.moving(one.second.step):
                    continue
                found = _computing(of.first, of.counterparts(value), operand)
                if found and of.first.flow.array(operand).size == of.second.flow.array(value).size:
                    return found, value
    return None


def _computing(side: Behind, start: set[int], end: int) -> list[int]:
    """Return the steps between two values that compute something; none where these are whole layers."""
    steps = [place for place in side.way(start, end) or () if side.flow.steps[place].kind != Kind.REARRANGEMENT]
    layers = any(side.flow.steps[place].kind in (Kind.CONTRACTION, Kind.ATTENTION) for place in steps)
    return [] if layers or len(steps) > _MOST_BETWEEN else steps


def _alike(of: Partings, one: Parting) -> Iterator[int]:
    """Yield the steps of the first model that do what a step of the second one does, of other operands."""
    weights = [value for value in of.second.weights(one.second.step) if of.second.frontier.is_weight(value)]
    for place in of.first.steps:
        if of.first.formula(place).name != one.formula.name or not one.formula.is_known:
            continue
        theirs = of.first.weights(place)
        if not weights or any(of.is_same(own, each) for own in weights for each in theirs):
            yield place


def _in_words(side: Behind, places: list[int]) -> tuple[str, tuple[str, ...]]:
    formulas = list(dict.fromkeys(side.formula(place).words for place in places))
    names = tuple(dict.fromkeys(name for place in places for name in side.names(place)))
    more = ", …" if len(formulas) > _MOST_NAMED else ""
    with_names = f", with {', '.join(names[:2])}" if names else ""
    return f"{', '.join(formulas[:_MOST_NAMED])}{more}{with_names}", names
