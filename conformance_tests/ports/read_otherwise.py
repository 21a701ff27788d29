"""Parts that two models compute alike and that were read as something else in one of them, as their weights tell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.items import PortPart, Weight
from veriformer.conformance_tests.ports.side import Side

_MOST_NUMBERS, _LEAST = 2**24, 2


class Used:
    """The numbers of all parameters that a model's results are made of."""

    def __init__(self, side: Side) -> None:
        self.side = side

    @cached_property
    def numbers(self) -> Array:
        """The numbers, sorted; none where there are too many to look through."""
        flow = self.side.flow
        made_of = {one for output in self.side.trace.outputs for one in flow.ancestors(output)}
        arrays = [flow.array(one).ravel() for one in sorted(made_of) if flow.trace.values[one].origin == "parameter"]
        if not arrays or sum(array.size for array in arrays) > _MOST_NUMBERS:
            return np.empty(0)
        return np.unique(np.concatenate(arrays))

    def has(self, array: Array | None) -> bool:
        """Return whether all numbers of an array are among them, and are too many to be so by chance."""
        if array is None or not self.numbers.size or (np.round(array * 64) != array * 64).sum() < _LEAST:
            return False
        place = np.minimum(np.searchsorted(self.numbers, array.ravel()), len(self.numbers) - 1)
        return bool((self.numbers[place] == array.ravel()).all())


def without_misread(findings: Sequence[Finding], first: Used, second: Used) -> list[Finding]:
    """Leave out what differs because one of the models has several weights in one, and is computed alike.

    The numbers of both are all used in the other then. What was read of such a part besides says nothing either.
    """
    misread = [one for one in findings if _is_cut_otherwise(one, first, second)]
    if not misread:
        return [*findings]
    return [one for one in findings if one.relation is not None and one not in misread]


def _is_cut_otherwise(one: Finding, first: Used, second: Used) -> bool:
    mine, other = one.first, one.second
    if one.relation is None or not isinstance(mine, Weight) or not isinstance(other, Weight):
        return False
    if mine.array is None or other.array is None or mine.array.size == other.array.size:
        return False
    return second.has(mine.array) and first.has(other.array)


def is_used(part: PortPart, other: Used) -> bool:
    """Return whether the other model uses all weights of a part, which was only not recognised there."""
    weights = [weight for weight in part.weights() if weight.array is not None]
    return bool(weights) and all(other.has(weight.array) for weight in weights)
