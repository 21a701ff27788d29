"""Positions that are added to some tokens before others are put beside them, as to patches but not to a class token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from veriformer.conformance_tests.recognition.embeddings import Embedding, Positions, positions_of
from veriformer.conformance_tests.recognition.expressions import Expression, Fixed, Norm, Scaled, Sum, Taken
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.suspicion import Suspicion


@dataclass(frozen=True, eq=False)
class SomePositions:
    """Positions of `count` tokens of `length`; the table has `rows`, and `others` says whether the rest have some.

    The others have positions where they are made of the same table.
    """

    positions: Positions
    count: int
    length: int
    rows: int
    others: bool

    @property
    def words(self) -> str:
        """What is said of them."""
        if self.others:
            return f"{self.positions.kind} positions, added before the tokens are joined"
        return f"{self.positions.kind} positions of {self.count} tokens of {self.length}"


def positions_of_some(flow: Flow, embedding: Embedding, width: int, batch: int) -> SomePositions | None:
    """Return the positions that are added to a part of the tokens; None where none are."""
    length = flow.array(embedding.value).size // max(width * batch, 1) if embedding.value >= 0 else 0
    for joined in _joined(embedding):
        for part in joined.of:
            if not isinstance(part, Sum) or all(isinstance(term, Fixed) for term in part.terms):
                continue
            found = positions_of(flow, Embedding(part.value, part.terms, None), width, batch)
            if found is None or part.value < 0:
                continue
            rests = [other for other in joined.of if other is not part and other.value >= 0]
            sizes = [flow.array(flow.trace.parameters[name]).size for name in _tables(flow, part)]
            shared = any(set(flow.parameters_of(one.value)) & set(_tables(flow, part)) for one in rests)
            count = flow.array(part.value).size // max(width * batch, 1)
            return SomePositions(found, count, length, max(sizes, default=0) // width, shared)
    return None


def mistakes_of_some_positions(flow: Flow, embedding: Embedding, width: int, batch: int) -> Iterator[Suspicion]:
    """Yield that a table of positions has a row for each token, and some tokens get none."""
    found = positions_of_some(flow, embedding, width, batch)
    if found is not None and not found.others and found.positions.kind == "learned" and found.rows == found.length:
        left = found.length - found.count
        if left > 0:
            one = "one of them gets" if left == 1 else f"{left} of them get"
            sentence = f"the table of positions has a row for each of {found.length} tokens, and {one} none"
            yield Suspicion("positions", found.positions.place, sentence, (), found.positions.path)


def _joined(embedding: Embedding) -> Iterator[Taken]:
    for term in embedding.terms:
        inner: Expression = term
        while isinstance(inner, Scaled | Norm):
            inner = inner.of
        if isinstance(inner, Taken) and len(inner.of) > 1:
            yield inner


def _tables(flow: Flow, part: Sum) -> list[str]:
    fixed = [term.value for term in part.terms if isinstance(term, Fixed) and term.value >= 0]
    return [name for value in fixed for name in flow.parameters_of(value)]
