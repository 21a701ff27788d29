"""Choices of the interface that an implementation does not offer: cases are drawn with the values that it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TypeVar

from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.space import Space

Value = bool | str | float | Fraction
ValueT = TypeVar("ValueT", bound=Value)
StrT = TypeVar("StrT", bound=str)
CaseT = TypeVar("CaseT", bound=Case)
Offered = Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True)
class FixedChoices:
    """The offered values of choices that an operation does not offer in full, by the limitation's name. `d_ff` is F /
    E; `num_kv_heads` and `context` say whether they may differ from the heads, or from x.
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

    def hidden(self, drawn: int, width: int) -> int:
        """Return F of a case whose network has the width E."""
        ratios = self.offered.get("d_ff")
        return hidden_units(ratios[0], width) if ratios and isinstance(ratios[0], Fraction) else drawn


def hidden_units(ratio: Fraction, width: int) -> int:
    """Return F of a network of width E: the ratio's share, at least one unit."""
    return max(int(ratio * width), 1)
