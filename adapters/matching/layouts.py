"""How the arrays of a call are laid out: each layout turns a call by the interface into calls of a function.

`call` is given the function behind its parameters, which takes arguments by the interface's names in the layout, and
the arguments of the interface. Several calls are made where the function takes one sample or one head at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from veriformer.adapters.matching.namespaces import (
    broadcast,
    is_of_jax,
    joined,
    of_each,
    part_of,
    reshaped,
    shape_of,
    size_of,
    stacked,
    transposed,
)

Arguments = Mapping[str, Any]
Inner = Callable[[Arguments], Any]
ATTENTION = {
    "scaled_dot_product_attention": ("query", "key", "value"),
    "grouped_query_attention": ("query", "key", "value"),
    "attention_weights": ("query", "key"),
}
"""The arrays with samples, heads, lengths and widths that each attention takes."""
# What attention adds or hides, which has the axes of the logits.
_OF_LOGITS = ("mask", "bias")
_EXCHANGED, _LENGTHS_FIRST = (0, 2, 1, 3), (1, 0, 2)


class Layout(Protocol):
    """An order of axes; `words` say what a function is given, `rank` how many axes its first array has."""

    @property
    def words(self) -> str:
        """What a function is given."""

    @property
    def rank(self) -> int:
        """The number of axes of its first array."""

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the result of the interface."""


@dataclass(frozen=True)
class Around:
    """A layout that goes about the calls in another one."""

    layout: Layout
    # The arguments with which a call of the interface becomes several of the function, or one with other samples.
    rearranged_with: ClassVar[tuple[str, ...]] = ()
    # The keywords with which no gradients are taken.
    without_gradients: ClassVar[frozenset[str]] = frozenset()
    # Whether a call of the interface may be one of the function for each sample.
    for_each_sample: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """What is said of it."""
        return self.layout.words

    @property
    def rank(self) -> int:
        """The number of axes that the function is given."""
        return self.layout.rank


def levels(layout: Layout) -> Iterator[Layout]:
    """Yield a layout and those that it goes about, the innermost last."""
    yield layout
    while isinstance(layout, Around):
        layout = layout.layout
        yield layout


class _Answered(BaseException):
    """What the function returned, on its way out of a layout."""

    def __init__(self, returned: Any) -> None:
        self.returned = returned


def first_answer(call: Callable[[Inner], Any], inner: Inner) -> Any:
    """Return what `inner` returns in the first call that a layout makes of it, as it is, and end that layout's call.

    `call` calls the layout with a function behind its parameters. None where it makes no call.
    """

    def answer(arguments: Arguments) -> Any:
        raise _Answered(inner(arguments))

    try:
        call(answer)
    except _Answered as answered:
        return answered.returned
    return None


@dataclass(frozen=True)
class OfLengths(Around):
    """A layout of attention that takes no more queries than keys, or as many: other calls may answer without sense."""

    equal: bool

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the result; ValueError for other lengths."""
        refuse_lengths(arguments, equal=self.equal)
        return self.layout.call(inner, arguments)


@dataclass(frozen=True)
class OfOneWidth(Around):
    """A layout of attention whose values are as wide as its keys: those of width one may answer without sense."""

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the result; ValueError for another width of values."""
        width, of_values = (shape_of(arguments[name])[-1] for name in ("query", "value"))
        if width != of_values:
            raise ValueError(f"the function takes values as wide as keys: the widths are {of_values} and {width}")
        return self.layout.call(inner, arguments)


@dataclass(frozen=True)
class AsItIs:
    """The layout of the interface."""

    words: str = ""
    rank: int = 0

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns."""
        return inner(arguments)


@dataclass(frozen=True)
class Changed:
    """Arrays with heads and lengths, each as another array in one call."""

    words: str
    rank: int
    names: tuple[str, ...]
    into: Callable[[Any], Any]
    back: Callable[[Any, Sequence[int]], Any]
    logits: Callable[[Any, Arguments], Any] = lambda array, _: array

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns, with its axes in the interface's order."""
        changed = {name: self.into(arguments[name]) for name in self.names}
        of_logits = {name: self.logits(arguments[name], arguments) for name in _OF_LOGITS if name in arguments}
        shape = shape_of(arguments[self.names[0]])
        heads = {"num_heads": shape[min(1, len(shape) - 1)]}
        return self.back(inner({**heads, **arguments, **changed, **of_logits}), shape)


@dataclass(frozen=True)
class OneByOne:
    """A call for each sample, or for each sample and head; of a sample lengths may come before heads."""

    words: str
    rank: int
    names: tuple[str, ...]
    axes: int
    lengths_first: bool = False

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the results of all calls as one array."""
        outer = shape_of(arguments[self.names[0]])[: self.axes]
        results = self._at_once(inner, arguments, outer)
        if results is None:
            results = stacked([self.back(inner(self._at(arguments, place))) for place in _places(outer)])
        return reshaped(results, (*outer, *shape_of(results)[1:]))

    def _at_once(self, inner: Inner, arguments: Arguments, outer: Sequence[int]) -> Any:
        """Return the results of the calls with JAX's arrays; None for other arrays, and where samples share heads."""
        of_call = [name for name in (*self.names, *_OF_LOGITS) if self._differs(name, arguments)]
        whole = {name: shape_of(arguments[name])[self.axes :] for name in of_call}
        pairs = [pair for name in of_call for pair in zip(shape_of(arguments[name]), outer, strict=False)]
        if not is_of_jax(arguments[self.names[0]]) or any(own not in (1, all_of) for own, all_of in pairs):
            return None
        flat = [
            reshaped(broadcast(arguments[name], (*outer, *whole[name])), (size_of(outer), *whole[name]))
            for name in of_call
        ]

        def of_one(*parts: Any) -> Any:
            turned = (
                transposed(part, _LENGTHS_FIRST) if self.lengths_first and name in self.names else part
                for name, part in zip(of_call, parts, strict=True)
            )
            return self.back(inner({**arguments, **dict(zip(of_call, turned, strict=True))}))

        return of_each(of_one, *flat) if flat[0].shape[0] else None

    def _differs(self, name: str, arguments: Arguments) -> bool:
        """Return whether each call has its own part of an argument."""
        return name in arguments and (name in self.names or len(shape_of(arguments[name])) == 4)

    def back(self, result: Any) -> Any:
        """Return a result, or a gradient, of one call with heads before lengths."""
        is_turned = self.lengths_first and len(shape_of(result)) == self.rank
        return transposed(result, _LENGTHS_FIRST) if is_turned else result

    def _at(self, arguments: Arguments, place: tuple[int, ...]) -> dict[str, Any]:
        found = dict(arguments)
        for name in (*self.names, *_OF_LOGITS):
            if name in found and name in self.names:
                of_one = _indexed(found[name], place)
                found[name] = transposed(of_one, _LENGTHS_FIRST) if self.lengths_first else of_one
            elif name in found:
                found[name] = _of_place(found[name], place)
        return found


@dataclass(frozen=True)
class JoinedHeads(OneByOne):
    """A call for each sample, whose heads stand side by side in one axis."""

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the results of all calls as one array."""

        def joined_heads(given: Arguments) -> Any:
            heads = shape_of(given[self.names[0]])[0]
            flat = {name: _side_by_side(given[name]) for name in self.names}
            result = inner({**given, **flat, "num_heads": heads})
            length, width = shape_of(result)
            return transposed(reshaped(result, (length, heads, width // heads)), _LENGTHS_FIRST)

        return super().call(joined_heads, arguments)


@dataclass(frozen=True)
class OneQuery(Around):
    """A call for each query of every head, without an axis of queries."""

    words: str = ""
    rank: int = 3

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the results of all calls as one array."""

        def of_one(given: Arguments) -> Any:
            shape = shape_of(given["query"])
            result = inner({**given, "query": reshaped(given["query"], (*shape[:-2], shape[-1]))})
            return reshaped(result, (*shape[:-1], shape_of(result)[-1]))

        if any(arguments.get(name) is not None for name in _OF_LOGITS):
            raise ValueError("a single query has no mask and no bias here")
        query = arguments["query"]
        rows = [part_of(query, (slice(None), slice(None), slice(row, row + 1))) for row in range(shape_of(query)[2])]
        return joined([self.layout.call(of_one, {**arguments, "query": row}) for row in rows], 2)


def refuse_lengths(arguments: Arguments, *, equal: bool) -> None:
    """Refuse more queries than keys, or other numbers of both where these are to be `equal`, with a ValueError."""
    queries, keys = (shape_of(arguments[name])[-2] for name in ("query", "key"))
    if queries > keys or (equal and queries != keys):
        wanted = "as many queries as keys" if equal else "no more queries than keys"
        raise ValueError(f"the function takes {wanted}: there are {queries} and {keys}")


def is_for_each_sample(layout: Layout) -> bool:
    """Return whether a call of the interface may be one of the function for each of its samples."""
    of_one = (OneByOne, _EachVector)
    return any(one.for_each_sample if isinstance(one, Around) else isinstance(one, of_one) for one in levels(layout))


def _places(outer: Sequence[int]) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for length in outer:
        places = [(*place, number) for place in places for number in range(length)]
    return places


def _indexed(array: Any, place: tuple[int, ...]) -> Any:
    for number in place:
        array = part_of(array, min(number, shape_of(array)[0] - 1))
    return array


def _of_place(array: Any, place: tuple[int, ...]) -> Any:
    """Return what the logits of one place are given of a mask, which may have fewer axes, or axes of size 1."""
    return _indexed(array, place) if len(shape_of(array)) == 4 else array


def _merged(array: Any) -> Any:
    samples, heads, *rest = shape_of(array)
    return reshaped(array, (samples * heads, *rest))


def _merged_logits(array: Any, arguments: Arguments) -> Any:
    (samples, heads, rows, _), columns = shape_of(arguments["query"]), shape_of(arguments["key"])[2]
    return _merged(broadcast(array, (samples, heads, rows, columns)))


def _exchanged(array: Any) -> Any:
    return transposed(array, _EXCHANGED)


def _flattened(array: Any) -> Any:
    samples, heads, length, width = shape_of(array)
    return reshaped(_exchanged(array), (samples, length, heads * width))


def _side_by_side(array: Any) -> Any:
    heads, length, width = shape_of(array)
    return reshaped(transposed(array, _LENGTHS_FIRST), (length, heads * width))


def _unflattened(array: Any, shape: Sequence[int]) -> Any:
    samples, length, width = shape_of(array)
    return _exchanged(reshaped(array, (samples, length, shape[1], width // shape[1])))


def _lengths_before_samples(array: Any) -> Any:
    return transposed(_flattened(array), (1, 0, 2))


def _samples_before_lengths(array: Any, shape: Sequence[int]) -> Any:
    return _unflattened(transposed(array, (1, 0, 2)), shape)


def _as_given(array: Any) -> Any:
    return array


def of_heads(names: tuple[str, ...]) -> list[Layout]:
    """Return the layouts of arrays that have samples, heads, lengths and widths, the commonest first."""
    return [
        AsItIs("(B, H, L, D)", 4),
        Changed("(B, L, H, D)", 4, names, _exchanged, lambda array, _: _exchanged(array)),
        Changed(
            "(B·H, L, D)",
            3,
            names,
            _merged,
            lambda array, shape: reshaped(array, (*shape[:2], *shape_of(array)[1:])),
            _merged_logits,
        ),
        OneByOne("(H, L, D), without samples", 3, names, 1),
        OneByOne("(L, H, D), without samples", 3, names, 1, lengths_first=True),
        OneByOne("(L, D), one head", 2, names, 2),
        Changed("(B, L, H·D)", 3, names, _flattened, _unflattened),
        Changed("(L, B, H·D)", 3, names, _lengths_before_samples, _samples_before_lengths),
        JoinedHeads("(L, H·D), without samples", 2, names, 1),
        Changed("(B, H, L, D), its result (B, L, H, D)", 4, names, _as_given, lambda array, _: _exchanged(array)),
        Changed("(B, H, L, D), its result (B, L, H·D)", 4, names, _as_given, _unflattened),
        Changed("(B, L, H, D), its result (B, L, H·D)", 4, names, _exchanged, _unflattened),
        OneQuery(AsItIs(), "(B, H, D), one query", 3),
        OneQuery(OneByOne("", 3, names, 1), "(H, D), one query, without samples", 2),
        OneQuery(OneByOne("", 2, names, 2), "(D,), one query of one head", 1),
    ]


def joins_axes(layout: Layout) -> bool:
    """Return whether a layout of the arguments has heads and another axis as one: samples, or components."""
    return "·" in _of_arguments(layout)


def joins_heads(layout: Layout) -> bool:
    """Return whether a layout of the arguments has heads side by side in one vector."""
    return "H·D" in _of_arguments(layout)


def _of_arguments(layout: Layout) -> str:
    return layout.words.partition(", its")[0]


def of_streams(names: tuple[str, ...]) -> list[Layout]:
    """Return the layouts of sequences of vectors, which have no axis of heads, the commonest first."""

    def samples_second(array: Any) -> Any:
        return transposed(array, (1, 0, 2))

    return [
        AsItIs(),
        Changed("(L, B, E)", 3, names, samples_second, lambda array, _: samples_second(array)),
        OneByOne("(L, E), without samples", 2, names, 1),
    ]


def of_vectors(name: str) -> list[Layout]:
    """Return the layouts of vectors along the last axis: any axes before it, one, or none."""

    def rows(array: Any) -> Any:
        shape = shape_of(array)
        return reshaped(array, (size_of(shape[:-1]), shape[-1])) if shape else array

    return [
        AsItIs("(…, E)", 3),
        Changed("(rows, E)", 2, (name,), rows, reshaped),
        _EachVector("(E,), one vector", 1, name),
    ]


@dataclass(frozen=True)
class _EachVector:
    """A call for each vector along the last axis."""

    words: str
    rank: int
    name: str

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the results of all calls as one array."""
        array = arguments[self.name]
        shape = shape_of(array)
        rows = reshaped(array, (size_of(shape[:-1]), shape[-1]))
        if not shape_of(rows)[0]:
            return array

        def of_one(row: Any) -> Any:
            result = inner({**arguments, self.name: row})
            if shape_of(result) != shape_of(row):
                raise ValueError(f"its result for a vector has the shape {shape_of(result)}")
            return result

        return reshaped(of_each(of_one, rows), shape)


@dataclass(frozen=True)
class FlatTokens:
    """Logits (B·L, N) and targets (B·L,), as a loss takes them that knows no samples."""

    words: str = "(B·L, N) and (B·L,)"
    rank: int = 2

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns, with the axes of the targets where it has one number for each."""
        logits, targets = arguments["logits"], arguments["targets"]
        shape = shape_of(targets)
        flat = {"logits": reshaped(logits, (size_of(shape), shape_of(logits)[-1]))}
        result = inner({**arguments, **flat, "targets": reshaped(targets, (size_of(shape),))})
        return reshaped(result, shape) if shape_of(result) == (size_of(shape),) else result
