"""Weights of queries, keys and values, or of gate and up, that are one array, along the axis of their outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from veriformer.adapters.matching.forms import LEFT_OUT
from veriformer.adapters.matching.held import value_of
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import Taking, folded
from veriformer.adapters.matching.namespaces import joined, reshaped, rolled, shape_of

PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "w_qkv": ("w_q", "w_k", "w_v"),
        "b_qkv": ("b_q", "b_k", "b_v"),
        "w_kv": ("w_k", "w_v"),
        "b_kv": ("b_k", "b_v"),
        "w_gate_up": ("w_gate", "w_up"),
    }
)
"""The weights that stand in one array, by what it is called here."""
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "w_qkv": "wqkv qkvw qkvweight qkvweights wqkvweight inprojweight inprojw inweight cattnw cattnweight attnw "
        "qkvkernel qkvproj qkvmatrix",
        "b_qkv": "bqkv qkvb qkvbias inprojbias inprojb inbias cattnb cattnbias attnb",
        "w_kv": "wkv kvw kvweight kvproj",
        "b_kv": "bkv kvb kvbias",
        "w_gate_up": "wgateup gateup gateupproj gateupweight gateupw gateupprojweight wgateupproj wgu w13 wgateandup "
        "wupgate upgate upgateproj w31",
    }
)
"""How people call such an array, without underscores and in small letters."""

OF_OPERATION: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"multi_head_attention": ("w_qkv", "b_qkv", "w_kv", "b_kv"), "gated_feed_forward": ("w_gate_up",)}
)
"""The arrays that an operation may have."""

UP_FIRST = ("w31", "wupgate", "upgate", "upgateproj")
"""The names that say that the up matrix stands before the gate."""

BY_PART, BY_HEAD, BY_NUMBER = "parts, heads, numbers", "heads, parts, numbers", "heads, numbers, parts"
"""The orders in which the columns of such an array stand; the first is the commonest."""
_MATRICES = ("w_qkv", "w_kv")


def packed_among(takings: Sequence[Taking], operation: str) -> dict[str, str]:
    """Return which parameter of a function is which of such arrays of an operation, as each is at most once."""
    names = {array: NAMES[array].split() for array in OF_OPERATION.get(operation, ())}
    found = {one.name: array for array, its in names.items() for one in takings if folded(one.name) in its}
    return found if len(set(found.values())) == len(found) else {}


@dataclass(frozen=True)
class Packed:
    """What gives such an array of the weights of an operation; zeros for biases that they lack, where it is `needed`.

    `keys_rolled` has the rows of the matrix of keys in another order, as its vectors have their numbers. `order` is
    that of parts, heads and the numbers of a head. `is_reversed` has the up matrix before the gate, as a name may say.
    """

    array: str
    needed: bool
    keys_rolled: bool = False
    order: str = BY_PART
    is_reversed: bool = False

    def __call__(self, arguments: Arguments) -> Any:
        """Return the array of these arguments."""
        weights, names = arguments["weights"], PARTS[self.array]
        if not self.needed and all(getattr(weights, part) is None for part in names):
            return LEFT_OUT
        parts = [value_of(weights, part) for part in names]
        if self.keys_rolled and self.array in _MATRICES:
            parts[-2] = rolled(parts[-2], 0)
        parts = parts[::-1] if self.is_reversed else parts
        return _together(parts, int(arguments.get("num_heads", 1)), self.order)


def other_orders(sources: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the less common orders in which the arrays of a function may stand; none where it has no such array."""
    arrays = {one.array for one in sources.values() if isinstance(one, Packed)}
    if arrays == {"w_gate_up"}:
        return (BY_NUMBER,)
    return (BY_HEAD, BY_NUMBER) if arrays else ()


def _together(parts: Sequence[Any], heads: int, order: str) -> Any:
    (*outer, numbers) = shape_of(parts[0])
    if order == BY_PART:
        return joined(parts, len(outer))
    width = numbers // heads
    if order == BY_HEAD:
        apart = [reshaped(one, (*outer, heads, 1, width)) for one in parts]
        return reshaped(joined(apart, len(outer) + 1), (*outer, len(parts) * numbers))
    apart = [reshaped(one, (*outer, heads, width, 1)) for one in parts]
    return reshaped(joined(apart, len(outer) + 2), (*outer, len(parts) * numbers))
