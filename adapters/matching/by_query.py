"""Attention whose mask has fewer axes than the logits: each query of each head becomes a sample with its own mask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from veriformer.adapters.matching.layouts import Arguments, Around, Inner, joins_heads
from veriformer.adapters.matching.namespaces import broadcast, joined, part_of, reshaped, shape_of, transposed

MASKS = {"(B, S)": (), "(B, L, S)": (1,)}
"""The shapes of such masks, each with the axes between samples and keys where a sample is one query."""
TAKING = ("scaled_dot_product_attention", "grouped_query_attention")
"""The operations that have such masks."""
WITH_HEADS = 4
"""The axes of an array in a layout with samples and heads."""
_OF_POSITIONS = ("is_causal", "window", "bias")
# With more logits than these, a sample has the one query alone that its mask is of, or there are several calls.
_MOST_LOGITS = 1 << 22


@dataclass(frozen=True)
class ByQuery(Around):
    """A layout in which a call with a mask has a sample for each query of each head; another call is as it is.

    So is a call whose mask has no more axes than the function's. Where the function `needs` a mask, a call without one
    is given one that hides nothing. `by_position`: whether the function needs all queries in each call.
    """

    axes: tuple[int, ...]
    needs: bool = False
    by_position: bool = False
    rearranged_with: ClassVar[tuple[str, ...]] = ("mask",)
    # With a window, the other queries of a sample may see no key. What is made of them is not looked at, but their
    # gradient, NaN times zero, would be in that of all keys.
    without_gradients: ClassVar[frozenset[str]] = frozenset({"window"})

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns, for all queries; ValueError for a bias of heads that come one by one."""
        mask = arguments.get("mask")
        if mask is None:
            given = {"mask": self._all_visible(arguments)} if self.needs else {}
            return self.layout.call(inner, {**arguments, **given})
        if self._is_small(mask):
            return self.layout.call(inner, {**arguments, "mask": self._of_samples(mask, arguments)})
        # A function that is told how many heads there are gets all of them.
        all_heads = joins_heads(self.layout)
        one_head = self.layout.rank < WITH_HEADS and not all_heads
        by_position = self.by_position or _is_by_position(arguments)
        if one_head and arguments.get("bias") is not None:
            raise ValueError("a mask comes without a bias here, since each head is a call of its own")
        samples = Samples.of(arguments, one_head=one_head, all_heads=all_heads, all_queries=by_position)
        rows = samples.rows_of(mask)

        def of_part(part: slice) -> Any:
            some = samples.only(part)
            given = {**arguments, **some.arrays, "mask": self._shaped(part_of(rows, part), some)}
            return self.layout.call(inner, given)

        return samples.own_ones(of_part)

    def _is_small(self, mask: Any) -> bool:
        """Return whether a mask has no more axes than the function's."""
        shape = shape_of(mask)
        return len(shape) == WITH_HEADS and shape[1] == 1 and (bool(self.axes) or shape[2] == 1)

    def _of_samples(self, mask: Any, arguments: Arguments) -> Any:
        """Return a small mask with the axes that the function's has."""
        (samples, _, rows, _), columns = shape_of(arguments["query"]), shape_of(arguments["key"])[2]
        if not self.axes:
            return broadcast(mask[:, 0, 0], (samples, columns))
        return broadcast(mask[:, 0], (samples, rows, columns))

    def _shaped(self, mask: Any, samples: Samples) -> Any:
        """Return a mask of one row for each sample with the axes that the function's has."""
        count, columns = shape_of(mask)
        rows = shape_of(samples.arrays["query"])[2]
        return broadcast(reshaped(mask, (count, 1, columns)), (count, rows, columns)) if self.axes else mask

    def _all_visible(self, arguments: Arguments) -> Any:
        rows, keys = arguments["query"][:, 0, :, 0], arguments["key"][:, 0, :, 0]
        (samples, length), (_, columns) = shape_of(rows), shape_of(keys)
        # True wherever there is a number, or none.
        visible = reshaped((keys == keys) | True, (samples, 1, columns))
        return broadcast(visible, (samples, length, columns)) if self.axes else visible[:, 0]


@dataclass(frozen=True)
class Samples:
    """A call with a sample for each query of each head, so that each may have a mask, or an order of keys, of its own.

    `arrays` are its queries, keys and values. A sample has all queries, so that lengths and heads are those of the
    call, and the result of its own one is taken. Where that would be too many, or a layout has no samples but those of
    each head, a sample has the queries of one head, or one query alone, but `all_queries` where positions count; `kept`
    says how many heads and queries it has.
    """

    shape: tuple[int, int, int]
    arrays: Arguments
    kept: tuple[int, int]

    @classmethod
    def of(
        cls, arguments: Arguments, *, one_head: bool = False, all_heads: bool = False, all_queries: bool = False
    ) -> Samples:
        """Return the samples of a call, of one head each, or with all heads or queries, if that is asked for."""
        samples, heads, rows, width = shape_of(arguments["query"])
        columns = shape_of(arguments["key"])[2]
        kept = (1 if one_head else heads, rows)
        if not (all_queries or all_heads) and samples * heads * rows * kept[0] * rows * columns > _MOST_LOGITS:
            kept = (1, 1)
        apart = (heads // max(kept[0], 1), rows // max(kept[1], 1))
        query = reshaped(arguments["query"], (samples * apart[0] * apart[1], *kept, width))
        others = {name: _of_heads(arguments[name], heads, apart) for name in ("key", "value")}
        if all_queries and arguments.get("bias") is not None:
            others["bias"] = broadcast(arguments["bias"], (samples, heads, rows, columns))
        arrays = {name: _repeated(array, kept[0] * kept[1]) for name, array in {"query": query, **others}.items()}
        return cls((samples, heads, rows), arrays, kept)

    def _parts(self) -> list[slice]:
        """Return the samples of each call, of which none has too many logits."""
        count, heads, rows, _ = shape_of(self.arrays["query"])
        if self.kept == (1, 1):
            return [slice(None)]
        step = max(_MOST_LOGITS // max(heads * rows * shape_of(self.arrays["key"])[2], 1), 1)
        return [slice(first, first + step) for first in range(0, max(count, 1), step)]

    def only(self, part: slice) -> Samples:
        """Return some of the samples."""
        if part == slice(None):
            return self
        return replace(self, arrays={name: part_of(array, part) for name, array in self.arrays.items()})

    def rows_of(self, mask: Any) -> Any:
        """Return the row of a mask that each sample has, (samples, S)."""
        samples, heads, rows = self.shape
        columns = shape_of(self.arrays["key"])[2]
        return reshaped(broadcast(mask, (*self.shape, columns)), (samples * heads * rows, columns))

    def own_ones(self, of_part: Callable[[slice], Any]) -> Any:
        """Return the results, one of each sample: of the query of the head that the sample was made for.

        `of_part` returns the results of some samples, which are all in one call where they are not too many.
        """
        results = [of_part(part) for part in self._parts()]
        result = joined(results, 0) if len(results) > 1 else results[0]
        each, width = self.kept[0] * self.kept[1], shape_of(result)[-1]
        count = shape_of(result)[0] // max(each, 1)
        square = transposed(reshaped(result, (count, each, each, width)), (1, 2, 0, 3))
        # The diagonal of a square is every (each + 1)th of its entries.
        own = reshaped(square, (each * each, count * width))[:: each + 1]
        return reshaped(transposed(reshaped(own, (each, count, width)), (1, 0, 2)), (*self.shape, width))


def refuse_positions(arguments: Arguments) -> None:
    """Raise ValueError for what depends on a query's position, which is lost where keys are put in another order."""
    if _is_by_position(arguments):
        raise ValueError(f"the mask comes alone here, without {', '.join(_OF_POSITIONS)}")


def _is_by_position(arguments: Arguments) -> bool:
    return any(arguments.get(name) is not None and arguments[name] is not False for name in _OF_POSITIONS)


def _repeated(array: Any, times: int) -> Any:
    """Return each sample of an array several times."""
    samples, *rest = shape_of(array)
    return reshaped(broadcast(reshaped(array, (samples, 1, *rest)), (samples, times, *rest)), (samples * times, *rest))


def _of_heads(array: Any, heads: int, apart: tuple[int, int]) -> Any:
    """Return keys or values once for each sample of heads and queries that are apart, as they are where none is."""
    samples, groups, length, width = shape_of(array)
    if apart == (1, 1):
        return array
    if apart[0] == 1:
        return _repeated(array, apart[1])
    one_each = reshaped(array, (samples, groups, 1, 1, length, width))
    each = broadcast(one_each, (samples, groups, heads // groups, apart[1], length, width))
    return reshaped(each, (samples * heads * apart[1], 1, length, width))
