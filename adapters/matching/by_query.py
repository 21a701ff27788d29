"""Attention whose mask has fewer axes than the logits: each query of each head becomes a sample with its own mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veriformer.adapters.matching.layouts import Arguments, Around, Inner
from veriformer.adapters.matching.namespaces import broadcast, reshaped, shape_of

MASKS = {"(B, S)": (), "(B, L, S)": (1,)}
"""The shapes of such masks, each with the axes between samples and keys where a sample is one query."""
TAKING = ("scaled_dot_product_attention", "grouped_query_attention")
"""The operations that have such masks."""
_OF_POSITIONS = ("is_causal", "window", "bias")


@dataclass(frozen=True)
class ByQuery(Around):
    """A layout in which a call with a mask has one query of one head as each sample; another call is as it is."""

    axes: tuple[int, ...]

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns, for all queries; ValueError with what depends on a query's position."""
        mask = arguments.get("mask")
        if mask is None:
            return self.layout.call(inner, arguments)
        refuse_positions(arguments)
        samples, heads, rows, _ = shape_of(arguments["query"])
        columns, count = shape_of(arguments["key"])[2], samples * heads * rows
        whole = broadcast(mask, (samples, heads, rows, columns))
        changed = {**one_query_each(arguments), "mask": reshaped(whole, (count, *self.axes, columns))}
        result = self.layout.call(inner, {**arguments, **changed})
        return reshaped(result, (samples, heads, rows, shape_of(result)[-1]))


def refuse_positions(arguments: Arguments) -> None:
    """Raise ValueError for what depends on a query's position, which is lost where each is a sample."""
    if any(arguments.get(name) not in (None, False) for name in _OF_POSITIONS):
        raise ValueError(f"the mask comes alone here, without {', '.join(_OF_POSITIONS)}")


def one_query_each(arguments: Arguments) -> dict[str, Any]:
    """Return queries, keys and values with each query of each head as a sample."""
    samples, heads, rows, width = shape_of(arguments["query"])
    query = reshaped(arguments["query"], (samples * heads * rows, 1, 1, width))
    return {"query": query, **{name: _repeated(arguments[name], heads, rows) for name in ("key", "value")}}


def _repeated(array: Any, heads: int, rows: int) -> Any:
    """Return keys or values once for each query of each head."""
    samples, groups, length, width = shape_of(array)
    apart = reshaped(array, (samples, groups, 1, 1, length, width))
    each = broadcast(apart, (samples, groups, heads // groups, rows, length, width))
    return reshaped(each, (samples * heads * rows, 1, length, width))
