"""Layers of a model told together: those that are alike take one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from veriformer.conformance_tests.core.text import counted, first_few

Item = TypeVar("Item")

# A whole member of a path; one that ends a name, as in "h_3", or begins it; and one right behind the word for a layer.
# "03" counts no layers: nothing may write it as "3".
_WHOLE = re.compile(r"(?<![^./\[])(0|[1-9]\d*)(?![^./\]])")
_GLUED = re.compile(r"(?i)(?:block|layer)(0|[1-9]\d*)(?!\d)")
_NUMBER = re.compile(r"(?<![^._/\[])(0|[1-9]\d*)(?![^._/\]])")
_ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}
_MOST_RUNS = 6
# The stem of a layer whose path has no number.
_UNNAMED = "layer "


@dataclass(frozen=True)
class Place:
    """A path in a model, taken apart at the number of its layer.

    "h.3.attn" has the stem "h.", the number 3, no closing, and the rest ".attn"; outside of layers, the rest is all.
    """

    stem: str
    number: int | None
    closing: str
    rest: str

    @property
    def is_named(self) -> bool:
        """Whether the number is part of the path, or there is none; else only the layer is known to have it."""
        return self.stem != _UNNAMED

    @property
    def label(self) -> str:
        """The path inside of the layer."""
        return self.rest.lstrip("._/, ")

    def of(self, number: int) -> str:
        """Return the path of the layer with another number."""
        return f"{self.stem}{number}{self.closing}"

    def inside(self, number: int) -> str:
        """Return the whole path, in the layer with another number."""
        return f"{self.of(number)}{self.rest}"


def placed(path: str, layer: int | None) -> Place:
    """Return a path taken apart at the number of its layer, or else at its first number, which may begin elsewhere.

    A layer whose path has no number is called "layer 3".
    """
    if layer is None:
        return Place("", None, "", path)
    found = _number_of(path, layer)
    if found is None:
        return Place(_UNNAMED, layer, "", f", {path}" if path else "")
    start, end = found.span(1)
    closing = "]" if path[end : end + 1] == "]" else ""
    return Place(path[:start], int(found[1]), closing, path[end + len(closing) :])


def _number_of(path: str, layer: int) -> re.Match[str] | None:
    """Return where a path has the number of its layer: "0" in "h.0.ln_1", whatever the layer, and "3" in "h_3.mlp"."""
    whole = list(_WHOLE.finditer(path))
    before = path[: whole[0].start()] if whole else path
    ending = [*_NUMBER.finditer(before), *_GLUED.finditer(before)]
    fitting = (one for one in (*whole, *ending) if int(one[1]) == layer)
    return next(iter((*fitting, *whole, *ending)), None)


def places_named(places: Sequence[Place]) -> str:
    """Return places that differ in their layers alone in words, in the model's own names."""
    numbers = [place.number for place in places if place.number is not None]
    return layers_named(numbers, places[0].inside) if numbers else places[0].rest or "the model itself"


def alike(items: Iterable[Item], key: Callable[[Item], object]) -> list[list[Item]]:
    """Return the items in groups of equal keys, in the order in which the groups begin."""
    groups: dict[object, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def layers_named(numbers: Sequence[int], name: Callable[[int], str]) -> str:
    """Return layers in words: "h.0, h.2 … h.11 (11 layers)", "every second layer from h.0 to h.10 (6 layers)"."""
    ordered = sorted(set(numbers))
    step = _step(ordered)
    if step > 1:
        ordinal = _ORDINALS.get(step, f"{step}th")
        said = f"every {ordinal} layer from {name(ordered[0])} to {name(ordered[-1])}"
    else:
        said = first_few([one for run in _runs(ordered) for one in _spelled(run, name)], _MOST_RUNS)
    return f"{said} ({counted(len(ordered), 'layer')})" if len(ordered) > 1 else said


def _step(ordered: Sequence[int]) -> int:
    """Return the distance from each number to the next where it is always the same, of three numbers or more."""
    distances = {after - before for before, after in pairwise(ordered)}
    return distances.pop() if len(distances) == 1 and len(ordered) > 2 else 0


def _runs(ordered: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for number in ordered:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _spelled(run: Sequence[int], name: Callable[[int], str]) -> list[str]:
    return [f"{name(run[0])} … {name(run[-1])}"] if len(run) > 2 else [name(number) for number in run]
