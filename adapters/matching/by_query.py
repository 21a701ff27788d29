"""Attention whose mask has fewer axes than the logits: each query of each head becomes a sample with its own mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from veriformer.adapters.matching.layouts import Arguments, Around, Inner
from veriformer.adapters.matching.namespaces import broadcast, reshaped, shape_of, transposed

MASKS = {"(B, S)": (), "(B, L, S)": (1,)}
"""The shapes of such masks, each with the axes between samples and keys where a sample is one query."""
TAKING = ("scaled_dot_product_attention", "grouped_query_attention")
"""The operations that have such masks."""
_OF_POSITIONS = ("is_causal", "window", "bias")
# With more logits than these, a sample has the one query alone that its mask is of.
_MOST_LOGITS = 1 << 22


@dataclass(frozen=True)
class ByQuery(Around):
    """A layout in which a call with a mask has a sample for each query of each head; another call is as it is.

    A sample has all queries, so that lengths and heads are those of the call, and the result of its own one is taken.
    Where the function `needs` a mask, a call without one is given one that hides nothing.
    """

    axes: tuple[int, ...]
    needs: bool = False

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns, for all queries; ValueError with what depends on a query's position."""
        mask = arguments.get("mask")
        if mask is None:
            given = {"mask": self._all_visible(arguments)} if self.needs else {}
            return self.layout.call(inner, {**arguments, **given})
        if any(arguments.get(name) not in (None, False) for name in _OF_POSITIONS):
            raise ValueError(f"the mask comes alone here, without {', '.join(_OF_POSITIONS)}")
        samples, heads, rows, _ = shape_of(arguments["query"])
        columns, each = shape_of(arguments["key"])[2], heads * rows
        if samples * each * each * columns > _MOST_LOGITS:
            return self._alone(inner, arguments)
        rows_of_mask = reshaped(broadcast(mask, (samples, heads, rows, columns)), (samples * each, 1, columns))
        repeated = {name: _repeated(arguments[name], each) for name in ("query", "key", "value")}
        result = self.layout.call(inner, {**arguments, **repeated, "mask": self._shaped(rows_of_mask, rows)})
        return _own_ones(result, (samples, heads, rows))

    def _shaped(self, mask: Any, rows: int) -> Any:
        """Return a mask of one row for each sample, (samples, 1, S), with the axes that the function's has."""
        count, _, columns = shape_of(mask)
        return broadcast(mask, (count, rows, columns)) if self.axes else reshaped(mask, (count, columns))

    def _alone(self, inner: Inner, arguments: Arguments) -> Any:
        samples, heads, rows, width = shape_of(arguments["query"])
        columns, count = shape_of(arguments["key"])[2], samples * heads * rows
        changed = {
            "query": reshaped(arguments["query"], (count, 1, 1, width)),
            "mask": reshaped(
                broadcast(arguments["mask"], (samples, heads, rows, columns)), (count, *self.axes, columns)
            ),
            **{name: _of_heads(arguments[name], heads, rows) for name in ("key", "value")},
        }
        result = self.layout.call(inner, {**arguments, **changed})
        return reshaped(result, (samples, heads, rows, shape_of(result)[-1]))

    def _all_visible(self, arguments: Arguments) -> Any:
        rows, keys = arguments["query"][:, 0, :, 0], arguments["key"][:, 0, :, 0]
        (samples, length), (_, columns) = shape_of(rows), shape_of(keys)
        # True wherever there is a number, or none.
        visible = reshaped((keys == keys) | True, (samples, 1, columns))
        return self._shaped(visible, length)


def _repeated(array: Any, times: int) -> Any:
    """Return each sample of an array several times."""
    samples, *rest = shape_of(array)
    return reshaped(broadcast(reshaped(array, (samples, 1, *rest)), (samples, times, *rest)), (samples * times, *rest))


def _own_ones(result: Any, shape: Sequence[int]) -> Any:
    """Return the results, one of each sample: of the query of the head that the sample was made for."""
    samples, heads, rows = shape
    each, width = heads * rows, shape_of(result)[-1]
    square = transposed(reshaped(result, (samples, each, each, width)), (1, 2, 0, 3))
    # The diagonal of a square is every (each + 1)th of its entries.
    own = reshaped(square, (each * each, samples * width))[:: each + 1]
    return reshaped(transposed(reshaped(own, (each, samples, width)), (1, 0, 2)), (samples, heads, rows, width))


def _of_heads(array: Any, heads: int, rows: int) -> Any:
    """Return keys or values once for each query of each head."""
    samples, groups, length, width = shape_of(array)
    apart = reshaped(array, (samples, groups, 1, 1, length, width))
    each = broadcast(apart, (samples, groups, heads // groups, rows, length, width))
    return reshaped(each, (samples * heads * rows, 1, length, width))
