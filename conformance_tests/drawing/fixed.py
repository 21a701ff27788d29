"""Choices of the interface that an implementation does not offer: cases are drawn with the values that it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TypeVar

from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.space import Space

Value = bool | str | int | float | Fraction
ValueT = TypeVar("ValueT", bound=Value)
StrT = TypeVar("StrT", bound=str)
CaseT = TypeVar("CaseT", bound=Case)
Offered = Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True)
class FixedChoices:
    """The offered values of choices that an operation does not offer in full, by the limitation's name. `num_kv_heads`
    and `context` say whether they may differ from the heads, or from x. `d_ff` is F, or as a fraction F / E; other
    sizes are numbers by their names in the interface, and lengths go up to `max_length`.
    """

    offered: Offered = field(default_factory=lambda: MappingProxyType({}))

    def applied(self, case: CaseT, space: Space | None) -> CaseT:
        """Return the case with the offered values, where the space leaves them free."""
        return case.offered(self, space) if self.offered else case

    def one_of(self, name: str, value: ValueT, seed: int) -> ValueT:
        """Return the value where it is offered, else one that is; TypeError where that is of another kind."""
        offered = self.offered.get(name, (value,))
        taken = value if value in offered else offered[seed % len(offered)]
        if not isinstance(taken, type(value)):
            raise TypeError(f"{name} is offered as {taken!r}; a case has {value!r}")
        return taken

    def biases(self, drawn: bool, seed: int, space: Space | None) -> bool:
        """Return whether a case has biases, where the space leaves that free."""
        free = getattr(space, "biases", "sometimes") == "sometimes"
        return self.one_of("biases", drawn, seed) if free else drawn

    def activation(self, drawn: StrT, seed: int, space: Space | None) -> StrT:
        """Return the activation of a case, where the space leaves it free."""
        chosen = self.one_of("activation", drawn, seed)
        return chosen if chosen in getattr(space, "activations", (chosen,)) else drawn

    def size(self, name: str, drawn: int, least: int = 1) -> int:
        """Return a size of a case: the one that is offered, unless a law needs a larger one, which is then refused."""
        given = self.number(name)
        return drawn if given is None or given < least else given

    def number(self, name: str) -> int | None:
        """Return the one value of a size; None where it is free."""
        given = self.offered.get(name, (None,))[0]
        return given if isinstance(given, int) and not isinstance(given, bool) else None

    def length(self, drawn: int, least: int = 1) -> int:
        """Return a length of a case, at most the largest."""
        largest = self.number("max_length")
        return drawn if largest is None else max(min(drawn, largest), least)

    def hidden(self, drawn: int, width: int, least: int = 1) -> int:
        """Return F of a case whose network has the width E."""
        ratio = self.offered.get("d_ff", (None,))[0]
        return hidden_units(ratio, width) if isinstance(ratio, Fraction) else self.size("d_ff", drawn, least)


def hidden_units(ratio: Fraction, width: int) -> int:
    """Return F of a network of width E: the ratio's share, at least one unit."""
    return max(int(ratio * width), 1)
