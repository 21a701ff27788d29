"""Two models matched directly, by their values alone, where the specification does not know their parts."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.ports.findings import Difference
from veriformer.conformance_tests.ports.parting import Partings
from veriformer.conformance_tests.ports.parting_causes import cause_of_parting
from veriformer.conformance_tests.ports.parting_told import path_of
from veriformer.conformance_tests.ports.side import Side
from veriformer.conformance_tests.recognition.paths import code_of, layer_in


@dataclass(frozen=True)
class FirstParting:
    """Where two models part by their values, as a difference; `place` is the step of the second model."""

    difference: Difference
    place: int

    @property
    def is_known(self) -> bool:
        """Whether the cause is known."""
        return self.difference.cause.kind != "unknown"


def first_parting(first: Side, second: Side, bound: float) -> FirstParting | None:
    """Return where the second model leaves what both compute for good, and why; None where nothing tells.

    It is the first step whose operands both have and whose result only the second one has, on a way to its results on
    which no later value is common again. Other ways to compute the same come to common values, and are passed by.
    """
    partings = Partings.between(first.flow, second.flow, bound)
    told = cause_of_parting(partings)
    if told is None:
        return None
    path_b = told.names_b[0] if told.names_b else path_of(partings.second, told.second)
    place_a = told.first
    path_a = told.names_a[0] if told.names_a else "" if place_a is None else path_of(partings.first, place_a)
    file_a, line_a = ("", 0) if place_a is None else code_of(first.flow, place_a)
    file_b, line_b = code_of(second.flow, told.second)
    layer = layer_in(path_a or path_b)
    found = Difference(path_a, path_b, layer, "other", "", file_a, line_a, file_b, line_b, told.cause)
    return FirstParting(found, told.second)
