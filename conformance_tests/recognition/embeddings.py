"""Reads what the stream begins with: token embedding, its factor, and positions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.conditioning import waves_of
from veriformer.conformance_tests.recognition.expressions import Embedded, Expression, Fixed, Norm, Output, Scaled, Sum
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.naming import Call, named
from veriformer.conformance_tests.recognition.patches import NO_PATCHES, patch_words
from veriformer.conformance_tests.recognition.streams import leaves
from veriformer.conformance_tests.recognition.suspicion import LIKELY, Suspicion, of_named, suspected
from veriformer.conformance_tests.recognition.tracking import places

# Tables of sines are mostly made in float32.
_TABLE_UNIT = 2.0**-24 / 16
_TWICE = 2.0
# Samples, channels and two axes of positions.
_IMAGE_AXES = 4
# Of sines and cosines at the usual frequencies.
_LAYOUTS = ("interleaved", "concatenated")


@dataclass(frozen=True, eq=False)
class Embedding:
    """The beginning of a stream: the value, its terms, and the norm over it, if there is one.

    `outer` is the number that the sum of all terms is multiplied by.
    """

    value: int
    terms: tuple[Expression, ...]
    norm: Norm | None
    outer: float = 1.0

    @property
    def tokens(self) -> tuple[Embedded, ...]:
        """The lookups in it."""
        return tuple(one for term in self.terms if (one := _looked_up(term)) is not None)

    @property
    def factor(self) -> float:
        """The number that the first lookup is multiplied by, where several times those numbers together."""
        scaled = [term for term in self.terms if isinstance(term, Scaled) and _looked_up(term) is not None]
        same = [term.factor for term in scaled if term.of.value == scaled[0].of.value]
        return self.outer * sum(same) if same else self.outer

    @property
    def norm_of_tokens(self) -> Norm | None:
        """The norm over the rows of tokens alone, before anything is added to them."""
        for term in self.terms:
            if isinstance(term, Norm) and _looked_up(term) is not None:
                return term
        return None


def _looked_up(term: Expression) -> Embedded | None:
    while isinstance(term, Scaled | Norm):
        term = term.of
    return term if isinstance(term, Embedded) else None


def embedding_of(expression: Expression) -> Embedding:
    """Return the beginning of a stream from what the first sublayer reads or is added to."""
    norm = expression if isinstance(expression, Norm) else None
    inner = norm.of if norm is not None else expression
    outer = 1.0
    while isinstance(inner, Scaled) and isinstance(inner.of, Sum | Scaled) and _has_sum(inner):
        outer *= inner.factor
        inner = inner.of
    terms = inner.terms if isinstance(inner, Sum) else (inner,)
    return Embedding(expression.value, terms, norm, outer)


def _has_sum(expression: Expression) -> bool:
    while isinstance(expression, Scaled):
        expression = expression.of
    return isinstance(expression, Sum)


@dataclass(frozen=True, eq=False)
class Positions:
    """How positions come into the stream: `kind` is "learned", "sinusoidal" or "fixed"; `start` the first row used.

    `path` is the module of the table, "" where it is none.
    """

    kind: str
    layout: str
    start: int
    place: int
    path: str = ""


def positions_of(flow: Flow, embedding: Embedding, width: int, batch: int) -> Positions | None:
    """Return the positions that are added to the tokens; None where none are."""
    for term in embedding.terms:
        lookup = _looked_up(term)
        if lookup is not None and flow.is_fixed(lookup.lookup.rows):
            rows = flow.array(lookup.lookup.rows).ravel()
            path = lookup.lookup.names[0].rpartition(".")[0]
            return Positions("learned", "", int(rows[0]) if rows.size else 0, lookup.lookup.step, path)
        if isinstance(term, Fixed) and flow.array(term.value).size % max(width, 1) == 0 and width:
            found = _of_table(flow, term, width, batch, _length(flow, embedding, width, batch))
            module = next(
                (step.module for step in map(flow.steps.__getitem__, flow.users(term.value)) if step.module), ""
            )
            return replace(found, path=module) if found is not None and not found.path else found
    return None


def _table_of_row(flow: Flow, term: Fixed, width: int) -> str:
    """Return the table of parameters of which a vector is one row of several; empty where there is none."""
    row = flow.array(term.value).ravel()
    for name in flow.parameters_of(term.value):
        parameter = flow.array(flow.trace.parameters[name])
        table = parameter.reshape(-1, width)
        if parameter.shape[-1:] == (width,) and len(table) > 1 and (table == row).all(axis=-1).any():
            return name
    return ""


def _length(flow: Flow, embedding: Embedding, width: int, batch: int) -> int:
    """Return the number of positions of a stream."""
    values = [one for one in (embedding.value, *(term.value for term in embedding.terms)) if one >= 0]
    return max((flow.array(one).size for one in values), default=0) // max(width * batch, 1)


def _of_table(flow: Flow, term: Fixed, width: int, batch: int, length: int) -> Positions | None:
    table = flow.array(term.value).reshape(-1, width)
    place = flow.maker(term.value) or 0
    if len(table) == batch and (table == table[:1]).all():
        # Each sample has the same row.
        table = table[:1]
    if len(table) == batch * length and (table.reshape(batch, -1) == table[:length].ravel()).all():
        # Or the same rows.
        table = table[:length]
    if len(table) == batch and batch > 1 and length != batch:
        return Positions("by sample", "", 0, place)
    if len(table) == 1 and not flow.depends_on_parameters(term.value):
        return Positions("one for all", "", 0, place)
    if len(table) == 1 and length > 1 and (name := _table_of_row(flow, term, width)):
        return Positions("one for all", "", 0, place, name)
    for name in flow.parameters_of(term.value):
        parameter = flow.array(flow.trace.parameters[name])
        if parameter.size % width == 0:
            rows = parameter.reshape(-1, width)
            start = _first_row(rows, table)
            if start is not None:
                return Positions("learned", "", start, place, name)
    for words, scale in (("", 1.0), (_DIVIDED, math.sqrt(width))):
        found = _of_waves(table * scale, place)
        if found is not None:
            return replace(found, layout=found.layout + words)
    return Positions("fixed", "", 0, place) if len(table) > 1 else None


def _of_waves(table: Array, place: int) -> Positions | None:
    """Return the sines and cosines of positions that a table holds; None where it holds something else."""
    width = table.shape[-1]
    for layout in _LAYOUTS:
        expected = _sinusoids(len(table) + 3, width, layout)
        for start in range(3):
            if expected is not None and agree(table, expected[start : start + len(table)], _TABLE_UNIT):
                return Positions("sinusoidal", layout, start, place)
    for start in range(3):
        waves = waves_of(np.arange(start, start + len(table)), table)
        if waves is not None:
            layout, base, is_last_exact, _ = waves
            words = f"{layout}, base {base:g}{f', the last 1/{base:g}' if is_last_exact else ''}"
            return Positions("sinusoidal", words, start, place)
    return None


def _first_row(rows: Array, table: Array) -> int | None:
    last = len(rows) - len(table)
    starts = np.flatnonzero((rows[: last + 1] == table[0]).all(axis=-1)) if last >= 0 and len(table) else ()
    return next((int(start) for start in starts if np.array_equal(rows[start : start + len(table)], table)), None)


def _sinusoids(length: int, width: int, layout: str) -> Array | None:
    try:
        return np.asarray(reference.sinusoidal_positions(length, width, layout=layout))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


# Tables that correct models have as well: of tensor2tensor, fairseq and Whisper, of a larger base, and of diffusion.
_OTHER_TABLES = ("frequencies=last_frequency_exact", "frequencies=base_100000", "functions=cosine_first")
_DIVIDED = ", divided by √d"
_WRONG_TABLES = {
    "by sample": ("the position that is added is that of the sample in the batch", "pe_indexed_by_batch"),
    "one for all": ("every token gets the same row of positions", "pe_single_row_not_slice"),
}


def embedding_mistakes(flow: Flow, embedding: Embedding, width: int, batch: int) -> Iterator[Suspicion]:
    """Yield the mistakes in the beginning of a stream."""
    for one in embedding.tokens:
        yield from _of_rows(flow, one, batch)
    yield from _of_patches(flow, embedding, width)
    values = [term.value for term in embedding.terms]
    if len(set(values)) < len(values) or embedding.factor == _TWICE:
        sentence = "a term of the embedding is added twice"
        made = flow.maker(embedding.value) or 0
        path = flow.steps[made].module
        yield Suspicion("positions", made, sentence, (suspected("pe_input_added_twice"),), path)
    factor = embedding.factor
    place = flow.maker(embedding.value) or 0
    if width > 1 and abs(factor - width) < 1e-6 * width:
        sentence = f"the embedding is multiplied by {factor:g}, the width itself, and not by its root"
        yield Suspicion("embedding", place, sentence, (suspected("embedding_scaled_by_width"),))
    elif width > 1 and abs(factor * math.sqrt(width) - 1.0) < 1e-6:
        sentence = "the embedding is divided by the root of the width, and not multiplied by it"
        yield Suspicion("embedding", place, sentence, (suspected("scale=divided_by_root", sentence=sentence),))
    positions = positions_of(flow, embedding, width, batch)
    if positions is None or all(isinstance(term, Fixed) for term in embedding.terms):
        # What is made of tables alone, such as a mask, has no tokens that positions could be added to.
        return
    if positions.kind in _WRONG_TABLES:
        sentence, slug = _WRONG_TABLES[positions.kind]
        yield Suspicion("positions", positions.place, sentence, (suspected(slug),), positions.path)
    if positions.start == 1 and not _is_behind_padding(flow, positions):
        sentence = "the first token gets the second row of the table of positions"
        slug = "learned_position_offset_wrong" if positions.kind == "learned" else "positions=from_one"
        yield Suspicion("positions", positions.place, sentence, (suspected(slug, LIKELY, sentence),), positions.path)
    if positions.kind == "fixed" or (positions.kind == "sinusoidal" and positions.layout not in _LAYOUTS):
        yield from _of_unknown_table(flow, embedding, positions, width)


def _is_behind_padding(flow: Flow, positions: Positions) -> bool:
    """Return whether the table declares that its first row stands for padding: fairseq counts from the next one."""
    return flow.steps[positions.place].attributes.get("padding_row") == positions.start - 1


def _of_patches(flow: Flow, embedding: Embedding, width: int) -> Iterator[Suspicion]:
    """Yield that an image is cut into no patches, or that vectors mix the channels of several of its patches."""
    maps = [leaf.map for term in embedding.terms for leaf in leaves(term) if isinstance(leaf, Output)]
    for one in maps:
        if patch_words(flow, one) == NO_PATCHES:
            sentence = "the image is cut into pieces that are no patches: axes are not exchanged"
            path = one.names[0].rpartition(".")[0] if one.names else ""
            yield Suspicion("embedding", one.step, sentence, (), path)
    behind = {value for term in embedding.terms if term.value >= 0 for value in flow.ancestors(term.value)}
    for one in maps:
        shape = flow.shape(one.output)
        if len(shape) < _IMAGE_AXES or (shape[1] == width) == (shape[-1] == width):
            continue
        # (B, C, H, W) in PyTorch, (B, H, W, C) in JAX and Keras.
        count = int(np.prod(shape[1:])) // width
        moved = [value for value in flow.descendants(one.output) if value in behind]
        moved = [value for value in moved if flow.shape(value) == (shape[0], count, width)]
        found = [
            (value, order)
            for value in moved
            if (order := places(flow.array(one.output), flow.array(value))) is not None
        ]
        # The last of them is what comes into the stream: before, there may be as many patches as channels.
        for value, order in found[-1:]:
            if np.ptp(order % count if shape[1] == width else order // width, axis=-1).any():
                place = flow.maker(value) or one.step
                path = one.names[0].rpartition(".")[0].rpartition(".")[0] if one.names else ""
                sentence = "the channels of several patches are mixed in each vector: axes are not exchanged"
                yield Suspicion("embedding", place, sentence, (), path)
                return


def _of_rows(flow: Flow, one: Embedded, batch: int) -> Iterator[Suspicion]:
    rows = _one_for_each(flow, one)
    if not flow.is_fixed(one.lookup.rows):
        given = [flow.array(value) for value in flow.trace.inputs if flow.array(value).dtype.kind == "i"]
        same = [tokens for tokens in given if tokens.size == rows.size]
        shifts = {int(shift) for tokens in same for shift in np.unique(rows.ravel() - tokens.ravel())}
        if same and len(shifts) == 1 and shifts <= {1, -1}:
            sentence = "each token gets the row of its neighbour"
            yield Suspicion("embedding", one.lookup.step, sentence, (suspected("token_numbers_from_one"),))
        return
    if rows.ndim == 2 and rows.shape == (batch, 1) and batch > 1:
        sentence, slug = _WRONG_TABLES["by sample"]
        yield Suspicion(
            "positions", one.lookup.step, sentence, (suspected(slug),), one.lookup.names[0].rpartition(".")[0]
        )
        return
    last = rows[-1] if rows.ndim > 1 else rows
    if last.size > 2 and not (np.diff(last.ravel()) == 1).all() and len(np.unique(last)) == last.size:
        sentence = "the rows of the table of positions are not taken in order"
        yield Suspicion("positions", one.lookup.step, sentence, (), one.lookup.names[0].rpartition(".")[0])
    if last.size > 1 and (last == last.flat[0]).all() and flow.shape(one.lookup.table)[0] > 2 and rows.ndim == 1:
        sentence = f"all positions get row {int(last.flat[0])} of the table of positions"
        yield Suspicion(
            "positions",
            one.lookup.step,
            sentence,
            (suspected("pe_single_row_not_slice"),),
            one.lookup.names[0].rpartition(".")[0],
        )


def _one_for_each(flow: Flow, one: Embedded) -> Array:
    """Return the rows that a lookup reads; a gather has an axis more, for the index along each axis of the table."""
    rows, shape = flow.array(one.lookup.rows), flow.shape(one.lookup.output)[:-1]
    if rows.ndim < 2 or shape[: rows.ndim] == rows.shape or shape[: rows.ndim - 1] != rows.shape[:-1]:
        return rows
    return rows[..., 0]


def _of_unknown_table(flow: Flow, embedding: Embedding, positions: Positions, width: int) -> Iterator[Suspicion]:
    for term in embedding.terms:
        if isinstance(term, Fixed) and not flow.depends_on_parameters(term.value):
            table = flow.array(term.value).reshape(-1, width)
            arguments = {"length": len(table), "d_model": width}
            calls = [
                Call("sinusoidal_positions", arguments, table, _TABLE_UNIT, {"sinusoidal_layout": layout})
                for layout in _LAYOUTS
            ]
            found = tuple(one for one in named(calls) if one.name not in _OTHER_TABLES)
            # Tokens × √d + positions is √d times tokens + positions / √d, so that only both at once are a mistake.
            if found and not (positions.layout.endswith(_DIVIDED) and embedding.factor == 1.0):
                sentence = found[0].sentence or "the table of positions is none that is right"
                yield Suspicion("positions", positions.place, sentence, of_named(found), positions.path)
