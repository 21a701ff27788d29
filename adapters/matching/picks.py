"""Which part of what a function returns is the result: the whole, a member, or an attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from veriformer.adapters.matching.namespaces import reshaped, shape_of

_WORDS = {"whole": "", "both": "both of its results", "quotient": "the first of its results divided by the second"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class Pick:
    """The way from what a function returns to its result; `axes` is the number of axes that the result keeps.

    `leaves_others` says that nothing else that the function returns is judged.
    """

    kind: str = "whole"
    at: Any = None
    axes: int | None = None
    leaves_others: bool = False

    def of(self, returned: Any) -> Any:
        """Return the result."""
        if self.kind == "both":
            # What a rotation makes of −2x is exactly −2 times what it makes of x.
            returned = 0.5 * returned[0] - 0.25 * returned[1]
        elif self.kind == "turned":
            returned = -0.5 * returned[self.at]
        elif self.kind == "member":
            returned = returned[self.at]
        elif self.kind == "attribute":
            returned = getattr(returned, self.at)
        elif self.kind == "quotient":
            returned = returned[0] / returned[1]
        if self.axes is not None:
            returned = reshaped(returned, _of_few_axes(shape_of(returned), self.axes))
        return returned

    @property
    def words(self) -> str:
        """What is said of it; empty where the whole is the result."""
        if self.kind in _WORDS:
            return _WORDS[self.kind]
        others = "; what else it returns is not judged" if self.leaves_others else ""
        if isinstance(self.at, int):
            place = _ORDINALS[self.at] if self.at < len(_ORDINALS) else f"{self.at + 1}th"
            return f"the {place} of its results{others}"
        return f"its result {self.at!r}{others}"


def _of_few_axes(shape: Sequence[int], axes: int) -> tuple[int, ...]:
    """Return a shape without axes of size 1, the first ones, so that some number of axes is left."""
    more = len(shape) - axes
    single = [place for place, size in enumerate(shape) if size == 1][: max(more, 0)]
    return tuple(size for place, size in enumerate(shape) if place not in single)


def picks(
    returned: Any, is_array: Callable[[Any], bool], *, both: bool = False, counted: int = 0
) -> Iterator[tuple[Pick, Any]]:
    """Yield the arrays in what a function returned, each with the way to it.

    `both` are two arrays of one shape, what a rotation makes of x and of −2x. Of two numbers the second of which is
    what was `counted`, the first is a sum.
    """
    if both and _is_pair(returned, is_array):
        yield from ((Pick("member", 0), returned[0]), (Pick("turned", 1), returned[1]))
    elif is_array(returned):
        yield Pick(), returned
    elif isinstance(returned, Mapping):
        yield from ((Pick("member", key), value) for key, value in returned.items() if is_array(value))
    elif isinstance(returned, tuple | list) and counted and _is_sum_and_count(returned, counted):
        yield Pick("quotient"), returned[0]
    elif isinstance(returned, tuple | list):
        yield from ((Pick("member", place), value) for place, value in enumerate(returned) if is_array(value))
    elif is_dataclass(returned):
        members = [(one.name, getattr(returned, one.name)) for one in fields(returned)]
        yield from ((Pick("attribute", name), value) for name, value in members if is_array(value))


def _is_pair(returned: Any, is_array: Callable[[Any], bool]) -> bool:
    if not isinstance(returned, tuple | list) or len(returned) != 2 or not all(map(is_array, returned)):
        return False
    return shape_of(returned[0]) == shape_of(returned[1])


def _is_sum_and_count(returned: Any, counted: int) -> bool:
    if len(returned) != len(("sum", "count")) or not all(hasattr(one, "__float__") for one in returned):
        return False
    shapes = [shape_of(one) if hasattr(one, "shape") else () for one in returned]
    return shapes == [(), ()] and float(returned[1]) == counted
