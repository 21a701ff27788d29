"""How each sublayer reads the stream of vectors and adds to it: norms before, after or both, and residuals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from veriformer.conformance_tests.recognition.expressions import (
    Condition,
    Expression,
    Gated,
    Norm,
    Output,
    Scaled,
    Sum,
    Taken,
    Unknown,
)
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.reader import Reader
from veriformer.conformance_tests.recognition.sublayers import (
    AttentionSublayer,
    Sublayer,
    Sublayers,
    each_inside,
    inner_expressions,
)


@dataclass(frozen=True, eq=False)
class Place:
    """Where a sublayer stands in the stream.

    `input` is what it reads and `stream` what it is added to, None where it is added to nothing. `before` is the norm
    of the stream that it reads, `on_output` the norm of its output before the sum, `after` the norm of the sum that
    the next sublayer is added to. `factor` multiplies its output. `result` is the sum. `on_the_way` are the kinds of
    expressions between the sum and the output that are none of these. `gate` multiplies each sample's output.
    """

    sublayer: Sublayer
    input: Expression
    stream: Expression | None
    before: Norm | None
    on_output: Norm | None
    after: Norm | None
    factor: float
    residual: str
    result: Expression | None
    on_the_way: tuple[str, ...] = ()
    gate: Condition | None = None

    @property
    def form(self) -> tuple[str, ...]:
        """Its norms and residual in words: what the places of one kind have in common."""
        return (
            "norm before" if self.before else "no norm before",
            "norm of the output" if self.on_output else "no norm of the output",
            "norm after" if self.after else "no norm after",
            f"residual: {self.residual}",
        )


class Streams:
    """The places of all sublayers, in order."""

    def __init__(self, reader: Reader, sublayers: Sublayers) -> None:
        self.reader = reader
        self.sublayers = sublayers

    @cached_property
    def ends(self) -> tuple[Expression, ...]:
        """What every sublayer and every other map reads, and what the model returns, in order."""
        reading = [one for sublayer in self.sublayers.all for one in sublayer.entries]
        maps = sorted({one.step: one for one in (*reading, *self.sublayers.others)}.values(), key=lambda one: one.step)
        read = [self.reader.read(one.input) for one in maps]
        return (*read, *(self.reader.read(one) for one in self.reader.flow.trace.outputs))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The place of each sublayer."""
        bare = [self._bare(sublayer) for sublayer in self.sublayers.all]
        return tuple(self._with_norm_after(place, bare) for place in bare)

    def _bare(self, sublayer: Sublayer) -> Place:
        read = self.reader.read(sublayer.entry.input)
        way = self._way_to(sublayer.exit)
        on_output, factor, total, gate = None, 1.0, None, None
        others: list[str] = []
        for expression in reversed(way):
            if isinstance(expression, Sum):
                total = expression
                break
            if isinstance(expression, Norm) and on_output is None:
                on_output = expression
            if isinstance(expression, Scaled):
                factor *= expression.factor
            if isinstance(expression, Gated) and gate is None:
                gate = expression.by
            elif not isinstance(expression, Norm | Scaled | Output):
                others.append(type(expression).__name__)
        # Without a sum, a norm on the way is that of the stream.
        on_output = on_output if total is not None else None
        stream, residual = self._stream(sublayer, total, read)
        before = read if isinstance(read, Norm) and not same(read, stream) else None
        return Place(sublayer, read, stream, before, on_output, None, factor, residual, total, tuple(others), gate)

    def _way_to(self, one: LinearMap) -> list[Expression]:
        """Return the expressions from what is read next down to a map's output; empty where it is never read."""
        for end in self.ends:
            way = _path(end, one)
            if way and len(way) > 1:
                return way
        return next((way for way in (_path(end, one) for end in self.ends) if way), [])

    def _stream(self, sublayer: Sublayer, total: Sum | None, read: Expression) -> tuple[Expression | None, str]:
        """Return what a sublayer's output is added to, and what that is."""
        if total is None:
            return None, "none"
        others = tuple(term for term in total.terms if not _contains(term, sublayer.exit))
        # Sublayers side by side read the same stream, and each is added to it.
        beside = [one.exit for one in self.sublayers.all if one is not sublayer and self._reads_the_same(one, sublayer)]
        rest = tuple(term for term in others if not any(_is_output(term, one) for one in beside))
        if not rest:
            return None, "none"
        rest = self._without_unknown(rest, read)
        stream: Expression = rest[0] if len(rest) == 1 else Sum(-1, rest)
        if (word := _as_read(stream, read)) is not None:
            return stream, word
        plain, factor = without_factor(stream)
        if factor != 1.0 and (word := _as_read(plain, read)) is not None:
            return plain, f"{word}, times {factor:.4g}"
        return stream, "something else"

    def _without_unknown(self, terms: tuple[Expression, ...], read: Expression) -> tuple[Expression, ...]:
        """Return the terms of the stream that a sublayer reads, where all others are unknown: experts beside it."""
        inner = _values(read.of if isinstance(read, Norm) else read)
        known = tuple(term for term in terms if not (isinstance(term, Unknown) and term.value not in inner))
        return known if sorted(term.value for term in known) == inner else terms

    def _reads_the_same(self, one: Sublayer, other: Sublayer) -> bool:
        first, second = (self.reader.read(sublayer.entry.input) for sublayer in (one, other))
        streams = [read.of if isinstance(read, Norm) else read for read in (first, second)]
        return same(first, second) or same(streams[0], streams[1])

    def _with_norm_after(self, place: Place, every: Sequence[Place]) -> Place:
        if place.result is None:
            return place
        for later in every:
            stream = later.stream
            if isinstance(stream, Norm) and same(stream.of, place.result):
                return Place(**{**vars(place), "after": stream})
        for end in (self.reader.read(one.input) for one in self.sublayers.others):
            # Before a final norm, the last sublayer may have one of its own.
            if isinstance(end, Norm) and isinstance(end.of, Norm) and same(end.of.of, place.result):
                return Place(**{**vars(place), "after": end.of})
        return place


def _as_read(stream: Expression, read: Expression) -> str | None:
    """Return what a sublayer's output is added to, if that is what it reads, or normalises."""
    if same(stream, read):
        return "what it reads"
    return "stream" if isinstance(read, Norm) and same(stream, read.of) else None


def without_factor(expression: Expression) -> tuple[Expression, float]:
    """Return an expression without a number that it is multiplied by, as a residual of DeepNorm is, and the number."""
    factor = 1.0
    while isinstance(expression, Scaled):
        factor *= expression.factor
        expression = expression.of
    return expression, factor


def _path(expression: Expression, one: LinearMap) -> list[Expression]:
    """Return the expressions from one down to a map's output; empty where it is not in it. Maps are not looked into."""
    return _path_without(expression, one, set())


def _path_without(expression: Expression, one: LinearMap, refuted: set[int]) -> list[Expression]:
    """Return the same, without another look into what did not hold it."""
    if isinstance(expression, Output):
        return [expression] if expression.map.step == one.step else []
    for inner in inner_expressions(expression):
        way = [] if id(inner) in refuted else _path_without(inner, one, refuted)
        if way:
            return [expression, *way]
        refuted.add(id(inner))
    return []


def _contains(expression: Expression, one: LinearMap) -> bool:
    return bool(_path(expression, one))


def _is_output(expression: Expression, one: LinearMap) -> bool:
    while isinstance(expression, Norm | Scaled | Gated):
        expression = expression.of
    return isinstance(expression, Output) and expression.map.step == one.step


def same(first: Expression | None, second: Expression | None) -> bool:
    """Return whether two expressions are the same value, or sums of the same values."""
    if first is None or second is None:
        return False
    if first.value == second.value and first.value >= 0:
        return True
    return _values(first) == _values(second)


def _values(expression: Expression) -> list[int]:
    terms = expression.terms if isinstance(expression, Sum) else (expression,)
    return sorted(term.value for term in terms)


def leaves(
    expression: Expression, stop: Callable[[Expression], bool] = lambda one: isinstance(one, Output)
) -> Iterator[Expression]:
    """Yield the terms that an expression ends in: outputs of maps, rows of tables, what is fixed or unknown.

    What `stop` holds for is not looked into.
    """
    for one in each_inside(expression, stop):
        if isinstance(one, Output | Unknown | Taken) or not any(True for _ in inner_expressions(one)):
            yield one


__all__ = ["AttentionSublayer", "Place", "Streams", "leaves"]
