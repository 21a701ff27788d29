"""What stands out in the norms of a model and may be meant: where they stand, and what they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from veriformer.conformance_tests.recognition.conditions import piece_of
from veriformer.conformance_tests.recognition.ends import norm_of_result
from veriformer.conformance_tests.recognition.expressions import Norm
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.stream_parts import norms_of, path_of_norm

# One or two norms among several times as many.
_FEW, _MANY_MORE = 2, 3


def remarks_on_norms(model: ModelReading) -> Iterator[str]:
    """Yield a sentence about each thing that stands out in the norms."""
    yield from _norms_in_other_places(model)
    yield from _norms_of_two_sublayers(model)
    yield from _parts_in_other_order(model)
    yield from _another_eps(model)


def _another_eps(model: ModelReading) -> Iterator[str]:
    """Yield that one or two norms add another eps than all others, as one that was built without it does."""
    known: dict[float, dict[str, None]] = {}
    for norm in _norms(model):
        if norm.eps is not None and norm.mistake is None:
            known.setdefault(float(f"{norm.eps:.3g}"), {})[path_of_norm(model.flow, norm)] = None
    usual = max(known, key=lambda eps: len(known[eps]), default=0.0)
    for eps, paths in known.items():
        if eps != usual and len(paths) <= _FEW and len(known[usual]) >= _MANY_MORE * len(paths) and all(paths):
            yield f"the eps of {' and '.join(paths)} is {eps:g}, and that of the other norms {usual:g}"


def _norms(model: ModelReading) -> Iterator[Norm]:
    """Yield every norm: those of sublayers, those of embeddings, and those that maps at the end read."""
    for one in model.readings:
        yield from (norm for _, norm in norms_of(one.place) if one.is_judged and not one.is_expert)
    yield from (embedding.norm for _, embedding in model.embeddings if embedding.norm is not None)
    yield from model.other_norms
    ends = [model.at_root(model.reader.read(one.input)) for one in model.ends]
    yield from (one for one in (*ends, norm_of_result(model)) if isinstance(one, Norm))


def _norms_in_other_places(model: ModelReading) -> Iterator[str]:
    """Yield that all sublayers of one kind have their norms at other places than all those of the other kinds."""
    for stack in dict.fromkeys(one.stack for one in model.readings):
        # The norm behind the last one may be that of the whole stack.
        places: dict[str, set[tuple[str, ...]]] = {}
        for one in _in_stack(model, stack)[:-1]:
            places.setdefault(one.kind, set()).add(_places_of_norms(one))
        told = {kind: next(iter(found)) for kind, found in places.items() if len(found) == 1}
        if len(told) == len(places) and () not in told.values() and len(set(told.values())) > 1:
            of_places = {where: [kind for kind in told if told[kind] == where] for where in told.values()}
            yield ", ".join(f"{_norms_of_each(kinds, where)}" for where, kinds in of_places.items())


def _in_stack(model: ModelReading, stack: int) -> list[Layered]:
    return [one for one in model.readings if one.stack == stack and one.is_judged and not one.is_expert]


def _norms_of_each(kinds: Sequence[str], where: Sequence[str]) -> str:
    each = " or ".join(kind.replace("_", "-") for kind in kinds)
    one = len(where) == 1
    return f"the {'norm' if one else 'norms'} of each {each} {'is' if one else 'are'} {' and '.join(where)}"


def _places_of_norms(one: Layered) -> tuple[str, ...]:
    """Return where the norms of a sublayer stand, in words."""
    place = one.place
    known = {"before it": place.before, "on its output": place.on_output, "behind the sum": place.after}
    return tuple(words for words, norm in known.items() if norm is not None)


def _norms_of_two_sublayers(model: ModelReading) -> Iterator[str]:
    """Yield that one norm is applied before two sublayers of a layer that come one after the other."""
    paths = []
    for stack in dict.fromkeys(one.stack for one in model.readings):
        for first, second in pairwise(_in_stack(model, stack)):
            one, other = first.place.before, second.place.before
            if one is None or other is None or one.gain is None or first.layer != second.layer:
                continue
            if one.gain == other.gain and one.shift == other.shift and one.of.value != other.of.value:
                paths.append((path_of_norm(model.flow, one), first.kind, second.kind))
    if paths:
        path, *kinds = paths[0]
        before = " and before the ".join(kind.replace("_", "-") for kind in kinds)
        where = "in each layer" if len(paths) > 1 else "in one layer"
        yield f"one norm{f' ({path})' if path else ''} is that before the {before} {where}, of two different streams"


def _parts_in_other_order(model: ModelReading) -> Iterator[str]:
    """Yield that some norms take their gain from an earlier part of the condition than their shift, and others not."""
    ways: dict[bool, list[str]] = {True: [], False: []}
    for one in model.conditioned:
        if not isinstance(one, Norm) or one.given_gain is None or one.given_shift is None:
            continue
        gain, shift = (piece_of(model.flow, condition.of) for condition in (one.given_gain, one.given_shift))
        if gain is not None and shift is not None and gain[0] == shift[0]:
            ways[gain[1] < shift[1]].append(path_of_norm(model.flow, one) or "the model itself")
    if ways[True] and ways[False]:
        first, last = (f"{found[0]}{' …' if len(found) > 1 else ''}" for found in (ways[True], ways[False]))
        yield f"of the parts of the condition the gain comes before the shift in {first}, and behind it in {last}"
