"""Which rows of the tables of an embedding each token gets."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.items import Choice
from veriformer.conformance_tests.recognition.embeddings import Embedding
from veriformer.conformance_tests.recognition.expressions import Fixed
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import Lookup


def rows_taken(flow: Flow, number: int, lookup: Lookup, path: str) -> Choice:
    """Return which rows of a table the tokens get: those at their own places, at others, or rows of no token."""
    key, rows = f"rows of table {number}", flow.array(lookup.rows).ravel()
    shift = _shift_of_tokens(flow, rows)
    if shift is not None:
        neighbour = "before" if shift > 0 else "behind"
        words = f"the row of the token {neighbour} it" if shift else "its own row"
        return Choice(key, "embedding", lookup.step, path, shift, f"each token gets {words}")
    listed = ", ".join(map(str, rows[:6])) + (", …" if rows.size > 6 else "")
    taken = tuple(rows.tolist())
    words = f"the rows {listed} of {', '.join(lookup.names) or 'the table'} are taken"
    own = lookup.names[0] if len(lookup.names) == 1 else path
    return Choice(key, "positions", lookup.step, own, taken, words, _Moved(taken))


def _shift_of_tokens(flow: Flow, rows: Array) -> int | None:
    """Return by how many places rows are those of other tokens; None where they are those of none."""
    for given in flow.trace.inputs:
        tokens = flow.array(given)
        if tokens.dtype.kind != "i" or tokens.size != rows.size or tokens.ndim < 1:
            continue
        for shift in (0, 1, -1):
            moved = np.roll(tokens, shift, axis=-1)
            inner = slice(max(shift, 0), tokens.shape[-1] + min(shift, 0))
            if np.array_equal(rows.reshape(tokens.shape)[..., inner], moved[..., inner]):
                return shift
    return None


class _Moved:
    """The mistake of rows that are all as many away from those of the other model."""

    def __init__(self, rows: tuple[int, ...]) -> None:
        self.rows = rows

    def __call__(self, usual: Hashable) -> str:
        if not isinstance(usual, tuple) or len(usual) != len(self.rows):
            return ""
        # Those of padding may be moved otherwise.
        away = [one - other for one, other in zip(self.rows, usual, strict=True)]
        return "learned_position_offset_wrong" if away and 2 * away.count(away[0]) > len(away) else ""


def is_one_row(flow: Flow, lookup: Lookup) -> bool:
    """Return whether all tokens get one row, which is not told to the model: that of the only segment."""
    rows = flow.array(lookup.rows)
    same = rows.size > 1 and bool((rows == rows.flat[0]).all())
    given = (flow.array(one) for one in flow.trace.inputs)
    return (
        same and not flow.is_fixed(lookup.rows) and not any(np.array_equal(one.ravel(), rows.ravel()) for one in given)
    )


def has_rows(flow: Flow, lookup: Lookup) -> bool:
    """Return whether the rows of a lookup are fixed and not all the same, as those of positions are."""
    rows = flow.array(lookup.rows)
    return flow.is_fixed(lookup.rows) and rows.size > 1 and bool((rows != rows.flat[0]).any())


def single_rows(flow: Flow, embedding: Embedding) -> list[tuple[int, tuple[str, ...]]]:
    """Return the terms that are one row for all tokens, as that of a segment is, with their parameters."""
    lookups = [one.lookup for one in embedding.tokens]
    alone = [one for one in lookups if is_one_row(flow, one) or (flow.is_fixed(one.rows) and not has_rows(flow, one))]
    found = [(lookup.output, lookup.names) for lookup in alone]
    for term in embedding.terms:
        one_row = isinstance(term, Fixed) and flow.array(term.value).size == (flow.shape(term.value) or (0,))[-1]
        if one_row and flow.depends_on_parameters(term.value):
            found.append((term.value, flow.parameters_of(term.value)))
    return found


def without_single_rows(flow: Flow, embedding: Embedding) -> Embedding:
    """Return the beginning of a stream without the terms that are one row for all tokens."""
    single = {value for value, _ in single_rows(flow, embedding)}
    return replace(embedding, terms=tuple(term for term in embedding.terms if term.value not in single))
