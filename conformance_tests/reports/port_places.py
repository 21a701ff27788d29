"""Where two models differ, told together: one place for all layers that are alike, and for all uses of one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.ports.findings import Difference, WeightPair
from veriformer.conformance_tests.reports.layers import Place, alike, placed

# A number in a name, as in "h.3.attn", "h[3].attn" or "h/3/attn"; not one in "0.25".
_NUMBER = re.compile(r"(?<=[A-Za-z_'\]][./\[])\d+")
_MOST_NUMBERS = 4


def gathered(differences: Sequence[Difference]) -> list[list[Difference]]:
    """Return the differences in groups: those of one cause in several layers, or in one line of code, are one."""
    groups = alike(differences, _kind)
    for what in (place_of, lambda group: tuple(sentences(group))):
        groups = _joined_by(groups, what)
    return groups


def _kind(one: Difference) -> object:
    first, second = placed(one.path_a, one.layer), placed(one.path_b, one.layer)
    return first.stem, first.rest, second.stem, second.rest, one.step, one.cause.kind, one.cause.name, one.line_b


def _joined_by(
    groups: Sequence[list[Difference]], what: Callable[[Sequence[Difference]], object]
) -> list[list[Difference]]:
    """Return groups of one cause in one line of code joined where they share something more; a line is mended once."""

    def shared(group: Sequence[Difference]) -> object:
        one = group[0]
        if not one.file_b:
            return id(group)
        return one.step, one.cause.kind, one.cause.name, one.file_b, one.line_b, what(group)

    return [[one for group in same for one in group] for same in alike(groups, shared)]


def sentences(group: Iterable[Difference]) -> list[str]:
    """Return what is said of the differences, each sentence once, and how many say the same of other layers."""
    return _each_once((one.cause.sentence, (one.path_a, one.path_b)) for one in group)


def changes(group: Sequence[Difference]) -> list[str]:
    """Return what must change where the differences are, each thing once."""
    found = [one for one in group if one.cause.change]
    if any(not one.path_b or not one.cause.change.startswith(f"{one.path_b}: ") for one in found):
        return _each_once((one.cause.change, (one.path_a, one.path_b)) for one in found)
    what = ((one.cause.change.removeprefix(f"{one.path_b}: "), (one.path_a, one.path_b)) for one in found)
    return [f"{place_of(group)}: {change}" for change in _each_once(what)]


def _each_once(told: Iterable[tuple[str, tuple[str, str]]]) -> list[str]:
    said: dict[str, dict[str, None]] = {}
    for sentence, paths in told:
        said.setdefault(of_any_layer(sentence, paths), {})[sentence.rstrip(".")] = None
    return [f"{next(iter(ways))}{and_others(len(ways) - 1)}" for ways in said.values()]


def and_others(number: int) -> str:
    """Return how many others there are of which the same is said."""
    return f" (and {counted(number, 'other')} alike)" if number else ""


def weights_alike(weights: Iterable[WeightPair]) -> list[list[WeightPair]]:
    """Return weights in groups: those of several layers of which the same is said are one."""
    return alike(weights, lambda one: (one.relation, one.harmless, _said_of(one)))


def _said_of(one: WeightPair) -> str:
    return of_any_layer(one.sentence, (*one.names_a[:1], *one.names_b[:1]))


def of_any_layer(sentence: str, paths: Collection[str]) -> str:
    """Return a sentence without the first numbers of the paths, which count layers, wherever a name in it has them."""
    found = [_NUMBER.search(path) for path in paths]
    numbers = {one[0] for one in found if one is not None}
    return _NUMBER.sub(lambda one: "#" if one[0] in numbers else one[0], sentence)


def place_of(group: Sequence[Difference]) -> str:
    """Return where differences of one group are, in the second model's own names, the first's where it has none."""
    return joined_places([placed(one.path_b or one.path_a, one.layer) for one in group]) or "the model itself"


def joined_places(places: Sequence[Place]) -> str:
    """Return places in words, those that differ in the number of the layer only as one."""
    return " and ".join(filter(None, map(ranged, alike(places, _outside_of_number))))


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
