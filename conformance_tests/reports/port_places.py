"""Where two models differ, told together: one place for all layers that are alike, and for all uses of one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.mistakes import remedy
from veriformer.conformance_tests.ports.findings import Difference, WeightPair
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.reports.layers import Place, alike, placed

# No layer has this number, so that the first number in a name is taken for that of its layer.
_ANY_LAYER = -1
_MOST_NUMBERS = 4
_OF_CODE = ("convention", "mistake", "unknown")


def gathered(differences: Sequence[Difference]) -> list[list[Difference]]:
    """Return the differences in groups: those of one cause in several layers, or in one line of code, are one."""
    layers = alike(differences, _kind)
    return [[one for group in same for one in group] for same in alike(layers, _line)]


def _kind(one: Difference) -> object:
    first, second = _places(one)
    # Where a weight is used is not where it went wrong.
    line = one.line_b if one.cause.kind in _OF_CODE else 0
    places = first.stem, first.rest, second.stem, second.rest
    return *places, one.step, one.cause.kind, one.cause.name, line, one.situation


def _places(one: Difference) -> tuple[Place, Place]:
    return placed(one.path_a, one.layer), placed(one.path_b, one.layer)


def _line(group: Sequence[Difference]) -> object:
    """Return what is one for differences that one change of the code or of the converter mends."""
    one = group[0]
    if not one.file_b or one.cause.kind == "unknown":
        return id(group)
    # A line of code does the same to many weights, each of which may be wrong by itself.
    weights = "" if one.cause.kind in _OF_CODE else place_of(group)
    return one.cause.kind, one.cause.name, one.file_b, one.line_b, weights, one.situation


def sentences(group: Iterable[Difference]) -> list[str]:
    """Return what is said of the differences, each sentence once, and how many say the same of other layers."""
    said = alike(group, lambda one: of_any_layer(one.cause.sentence, _places(one)))
    return [_each_once([one.cause.sentence for one in same]) for same in said]


def changes(group: Sequence[Difference]) -> list[str]:
    """Return what must change where the differences are, each thing once."""
    found = [one for one in group if one.cause.change]
    return [_change(same) for same in alike(found, lambda one: of_any_layer(_what(one), _places(one)))]


def corrections(group: Sequence[Difference]) -> list[str]:
    """Return what the first model must change, where it is that which departs from the Transformer; else nothing."""
    departing = [one for one in group if one.departs == "A" and one.own_a is not None]
    if len(departing) < len(group):
        return []
    said = dict.fromkeys(_correction(one.own_a) for one in departing if one.own_a is not None)
    place = joined_places([placed(one.path_a, one.layer) for one in group if one.path_a]) or place_of(group)
    return [f"{place}: {sentence}" for sentence in list(said)[:1]]


def _correction(own: Departure) -> str:
    """Return what to do where a model departs, else where it does."""
    known = next((wanted for one in own.suspects if (wanted := remedy(one.name))), "")
    sentence = own.sentence.rstrip(".")
    return f"{known} ({sentence})" if known else f"mend this: {sentence}"


def _change(same: Sequence[Difference]) -> str:
    said = _each_once([_what(one) for one in same])
    return said if _what(same[0]) == same[0].cause.change else f"{place_of(same)}: {said}"


def _what(one: Difference) -> str:
    """Return what must change, without the place where."""
    return one.cause.change.removeprefix(f"{one.path_b}: ") if one.path_b else one.cause.change


def _each_once(said: Iterable[str]) -> str:
    ways = list(dict.fromkeys(sentence.rstrip(".") for sentence in said))
    return f"{ways[0]}{and_others(len(ways) - 1)}"


def and_others(number: int) -> str:
    """Return how many others there are of which the same is said."""
    return f" (and {counted(number, 'other')} alike)" if number else ""


def weights_alike(weights: Iterable[WeightPair]) -> list[list[WeightPair]]:
    """Return weights in groups: those of several layers of which the same is said are one."""
    return alike(weights, lambda one: (one.relation, one.harmless, _said_of(one)))


def _said_of(one: WeightPair) -> str:
    return of_any_layer(one.sentence, (placed(name, _ANY_LAYER) for name in (*one.names_a[:1], *one.names_b[:1])))


def of_any_layer(sentence: str, places: Iterable[Place]) -> str:
    """Return a sentence without the number of the layer in the names that begin as these places do."""
    for place in places:
        if place.number is not None and place.is_named:
            whole = rf"(?<!\w){re.escape(place.of(place.number))}(?!\d)"
            sentence = re.sub(whole, f"{place.stem}#{place.closing}", sentence)
    return sentence


def place_of(group: Sequence[Difference]) -> str:
    """Return where differences of one group are, in the second model's own names, the first's where it has none."""
    return joined_places([placed(one.path_b or one.path_a, one.layer) for one in group]) or "the model itself"


def joined_places(places: Sequence[Place]) -> str:
    """Return places in words, those that differ in the number of the layer only as one."""
    return listed([*filter(None, map(ranged, alike(places, _outside_of_number)))])


def listed(names: Sequence[str]) -> str:
    """Return names in words: "a, b and c"."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _outside_of_number(place: Place) -> object:
    return place.stem, place.closing, place.rest


def ranged(places: Sequence[Place]) -> str:
    """Return places that differ in the number of the layer only as one: "h.[0–2].attn", or "layers (layers 0–2)"."""
    first = places[0]
    numbers = sorted({place.number for place in places if place.number is not None})
    if not numbers:
        return plain(first.rest)
    shown = _in_words(numbers)
    if first.is_named:
        number = shown if len(numbers) == 1 or first.closing else f"[{shown}]"
        return plain(f"{first.stem}{number}{first.closing}{first.rest}")
    layers = f"layer{'s' if len(numbers) > 1 else ''} {shown}"
    return plain(f"{first.label} ({layers})" if first.label else layers)


def _in_words(numbers: Sequence[int]) -> str:
    """Return numbers in rising order: "0–11", "0, 2", "0, 2, 4, … 10"."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}–{numbers[-1]}"
    if len(numbers) <= _MOST_NUMBERS:
        return ", ".join(map(str, numbers))
    return f"{', '.join(map(str, numbers[: _MOST_NUMBERS - 1]))}, … {numbers[-1]}"
