"""Choices of the interface that an implementation does not offer: cases are drawn with what it has instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

Value = bool | str | float | Fraction
Offered = Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True)
class FixedChoices:
    """The values that an operation offers of choices of which it lacks some, by the limitation's name.

    `d_ff` is F / E; `num_kv_heads` and `context` are whether they may be other than the heads, or than x.
    """

    offered: Offered = field(default_factory=lambda: MappingProxyType({}))

    def applied(self, case: Any, space: Any) -> Any:
        """Return the case with what is offered, wherever the space leaves that free."""
        return case.offered(self, space) if self.offered else case

    def one_of(self, name: str, value: Any, seed: int) -> Any:
        """Return the value where it is offered, else one that is."""
        offered = self.offered.get(name, (value,))
        return value if value in offered else offered[seed % len(offered)]

    def biases(self, case: Any, space: Any) -> bool:
        """Return whether a case has biases, where the space leaves that free."""
        free = getattr(space, "biases", "sometimes") == "sometimes"
        return bool(self.one_of("biases", case.biases, case.seed)) if free else bool(case.biases)

    def activation(self, case: Any, space: Any) -> Any:
        """Return the activation of a case, where the space leaves it free."""
        chosen = self.one_of("activation", case.activation, case.seed)
        return chosen if chosen in getattr(space, "activations", (chosen,)) else case.activation

    def hidden(self, case: Any, width: int) -> int:
        """Return F of a case whose network is of a width E."""
        ratios = self.offered.get("d_ff")
        return hidden_units(ratios[0], width) if ratios and isinstance(ratios[0], Fraction) else int(case.hidden)


def hidden_units(ratio: Fraction, width: int) -> int:
    """Return F of a network of width E: the part that the ratio gives, one unit at least."""
    return max(int(ratio * width), 1)
