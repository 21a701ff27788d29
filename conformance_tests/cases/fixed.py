"""Choices of the interface that an implementation does not offer: cases are drawn with what it has instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from veriformer.conformance_tests.cases.case import AttentionCase, FeedForwardCase, VectorCase
from veriformer.conformance_tests.cases.layer_case import LayerCase
from veriformer.conformance_tests.cases.spaces import AttentionSpace, FeedForwardSpace, LayerSpace

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
        if not self.offered:
            return case
        fit = _FITTED.get(type(case))
        return case if fit is None else fit(self, case, space)

    def one_of(self, name: str, value: Any, seed: int) -> Any:
        """Return the value where it is offered, else one that is."""
        offered = self.offered.get(name, (value,))
        return value if value in offered else offered[seed % len(offered)]


def hidden_units(ratio: Fraction, width: int) -> int:
    """Return F of a network of width E: the part that the ratio gives, one unit at least."""
    return max(int(ratio * width), 1)


def _biases(fixed: FixedChoices, case: Any, space: Any) -> bool:
    free = getattr(space, "biases", "sometimes") == "sometimes"
    return bool(fixed.one_of("biases", case.biases, case.seed)) if free else case.biases


def _activation(fixed: FixedChoices, case: Any, space: Any) -> Any:
    chosen = fixed.one_of("activation", case.activation, case.seed)
    return chosen if chosen in getattr(space, "activations", (chosen,)) else case.activation


def _hidden(fixed: FixedChoices, case: Any, width: int) -> int:
    ratios = fixed.offered.get("d_ff")
    return hidden_units(ratios[0], width) if ratios and isinstance(ratios[0], Fraction) else case.hidden


def _layer(fixed: FixedChoices, case: LayerCase, space: LayerSpace) -> LayerCase:
    free = getattr(space, "place", "any") == "any"
    return replace(
        case,
        norm_first=fixed.one_of("norm_first", case.norm_first, case.seed) if free else case.norm_first,
        activation=_activation(fixed, case, space),
        biases=_biases(fixed, case, space),
        hidden=_hidden(fixed, case, case.d_model),
        eps=fixed.one_of("eps", case.eps, case.seed),
    )


def _network(fixed: FixedChoices, case: FeedForwardCase, space: FeedForwardSpace) -> FeedForwardCase:
    return replace(
        case,
        activation=_activation(fixed, case, space),
        biases=_biases(fixed, case, space),
        hidden=_hidden(fixed, case, case.width),
    )


def _vectors(fixed: FixedChoices, case: VectorCase, space: object) -> VectorCase:
    return replace(case, eps=fixed.one_of("eps", case.eps, case.seed))


def _attention(fixed: FixedChoices, case: AttentionCase, space: AttentionSpace) -> AttentionCase:
    case = replace(case, biases=_biases(fixed, case, space))
    if "num_kv_heads" in fixed.offered and not getattr(space, "grouped", False):
        case = replace(case, kv_heads=case.heads)
    if "context" in fixed.offered and getattr(space, "lengths", "any") != "unequal":
        longest = max(case.query_length, case.key_length)
        length = getattr(space, "queries", None) or getattr(space, "keys", None) or longest
        case = replace(case, query_length=length, key_length=length, itself=True)
    return case


_FITTED: dict[type, Any] = {
    LayerCase: _layer,
    FeedForwardCase: _network,
    VectorCase: _vectors,
    AttentionCase: _attention,
}
