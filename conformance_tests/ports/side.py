"""One of the two models, read as parts with what is compared of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from veriformer.adapters.capture.trace import Kind, Trace
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.attention_items import attention_items
from veriformer.conformance_tests.ports.hypotheses import UNIT
from veriformer.conformance_tests.ports.image_items import image_items
from veriformer.conformance_tests.ports.items import Choice, Cut, Item, PortPart, Weight
from veriformer.conformance_tests.ports.memory_items import memory_items
from veriformer.conformance_tests.ports.network_items import network_items
from veriformer.conformance_tests.ports.pooling import pooling_items
from veriformer.conformance_tests.ports.rows import has_rows, is_one_row, rows_taken, single_rows, without_single_rows
from veriformer.conformance_tests.ports.stream_items import (
    attention_first,
    before,
    behind,
    choices,
    cut,
    norm_items,
    standing,
    with_late_bias,
)
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.aspects import Aspect
from veriformer.conformance_tests.recognition.departures import found_in
from veriformer.conformance_tests.recognition.embeddings import Embedding, positions_of
from veriformer.conformance_tests.recognition.ends import norm_of_result
from veriformer.conformance_tests.recognition.expressions import Activated, Fixed, Norm, Output, Scaled
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.networks import matrix_of
from veriformer.conformance_tests.recognition.paths import common_path, path_of_maps
from veriformer.conformance_tests.recognition.stream_parts import norms_of, path_of_norm
from veriformer.conformance_tests.recognition.streams import leaves
from veriformer.conformance_tests.recognition.structure import relations

# More distances between rows and a table are too many to compute.
_MOST_DISTANCES = 10**8


class Side:
    """One model, as it was recorded."""

    def __init__(self, name: str, trace: Trace) -> None:
        self.name = name
        self.model = ModelReading(trace)
        self.trace = self.model.trace
        self.flow = self.model.flow

    @cached_property
    def parts(self) -> tuple[PortPart, ...]:
        """The parts, in the order of execution."""
        # These say which sublayers nothing reads.
        assert self.departures is not None
        sublayers = attention_first(self.model.readings)
        return (*self._beginnings(), *(self._sublayer(one) for one in sublayers), *self._ends())

    @cached_property
    def departures(self) -> tuple[Departure, ...]:
        """Where this model departs from the Transformer that it otherwise is."""
        return found_in(self.model).departures

    @cached_property
    def outputs(self) -> tuple[Array, ...]:
        """What the model returned."""
        return tuple(self.flow.array(one) for one in self.trace.outputs)

    def _sublayer(self, one: Layered) -> PortPart:
        part = PortPart(one.kind, one.stack, one.layer, one.path, one.first_step, unused=one.idle)
        found = standing(self.model, one)
        # How a sublayer stands in its stream is read off what reads the stream.
        part.items += [] if one.idle else before(self.model, one, found)
        part.items += choices(relations_but_memory(self.model, one), one.path)
        part.items += memory_items(self.model, one)
        if one.attention is not None:
            part.items += attention_items(self.flow, one.attention, one.path)
        if one.network is not None:
            part.items += network_items(self.flow, one.network, one.path)
        part.items = [self._with_late_bias(one, item) for item in part.items]
        part.items += [] if one.idle else behind(self.model, one, found)
        return part

    def _with_late_bias(self, one: Layered, item: Item) -> Item:
        is_bias = isinstance(item, Weight) and item.key == "output bias"
        return with_late_bias(self.model, one, item) if is_bias and isinstance(item, Weight) else item

    def _beginnings(self) -> Iterator[PortPart]:
        for stack, embedding in self.model.embeddings:
            if any(self.flow.depends_on_input(one.lookup.table) for one in embedding.tokens):
                # Vectors that were picked out of a stream, as those for an expert are, begin none.
                continue
            path = self.model.path_of_embedding(embedding) or self._path_of_projection(embedding)
            items = list(self._of_embedding(embedding, path))
            place = min((item.place for item in items), default=0)
            yield PortPart("embedding", stack, None, path, place, items)

    def _path_of_projection(self, embedding: Embedding) -> str:
        maps = [one.map for term in embedding.terms for one in leaves(term) if isinstance(one, Output)]
        return path_of_maps(self.flow, maps)

    def _of_embedding(self, embedding: Embedding, path: str) -> Iterator[Item]:
        flow = self.flow
        lookups = [one.lookup for one in embedding.tokens if not flow.is_fixed(one.lookup.rows)]
        moving = [one for one in lookups if not is_one_row(flow, one)]
        for number, lookup in enumerate(moving):
            table = flow.array(lookup.table)
            yield Weight(f"table {number}", "embedding", lookup.step, path, table, lookup.names)
            yield rows_taken(flow, number, lookup, path)
        many = len(moving)
        words = f"rows of {many} {'table' if many == 1 else 'tables'} are looked up for each token"
        yield Choice("tables", "embedding", flow.maker(embedding.value) or 0, path, many, words)
        projected = [one.map for term in embedding.terms for one in leaves(term) if isinstance(one, Output)]
        for number, one in enumerate(projected):
            module = path_of_maps(flow, [one])
            of_image = list(image_items(flow, embedding, one, module))
            yield from of_image
            if of_image:
                continue
            yield Weight(f"projection {number}", "embedding", one.step, module, matrix_of(flow, one), one.names)
        at = flow.maker(embedding.value) or 0
        factor = float(f"{embedding.factor:.6g}")
        yield Choice("embedding factor", "embedding", at, path, factor, f"the embedding is multiplied by {factor:g}")
        yield from self._of_positions(embedding, path)
        alone = embedding.norm_of_tokens
        words = f"the rows of tokens are {'' if alone else 'not '}normalised before the rest is added"
        yield Choice("norm of the tokens", "norm", at, path, alone is not None, words)
        has = embedding.norm is not None
        words = "the embedding is normalised" if has else "the embedding is not normalised"
        own = path if embedding.norm is None else path_of_norm(flow, embedding.norm) or path
        yield Choice("norm of the embedding", "norm", at, own, has, words)
        if embedding.norm is not None:
            yield from norm_items(flow, embedding.norm, "embedding norm", "norm")
        else:
            yield from self._stream(embedding, path)

    def _stream(self, embedding: Embedding, path: str) -> Iterator[Cut]:
        """Yield the stream as it begins; it may be a sum that the model never makes by itself."""
        value = self._made_sum(embedding)
        if value >= 0:
            yield cut(self.flow, "stream", "embedding", value, path)
            return
        terms = [self.flow.array(term.value) for term in embedding.terms]
        try:
            total = np.sum(np.broadcast_arrays(*terms), axis=0)
        except ValueError:
            # Some terms have their axes in another order.
            return
        at = max(self.flow.maker(term.value) or 0 for term in embedding.terms)
        yield Cut("stream", "embedding", at, path, total)

    def _made_sum(self, embedding: Embedding) -> int:
        """Return the value that the terms of a beginning are added up to; −1 where the model does not make it."""
        if embedding.value >= 0:
            return embedding.value
        flow = self.flow
        moving = [term.value for term in embedding.terms if term.value >= 0 and not flow.is_fixed(term.value)]
        if len(moving) != 1 or embedding.outer != 1.0:
            return -1
        value = moving[0]
        for _ in embedding.terms[1:]:
            sums = [flow.steps[one] for one in flow.users(value) if flow.steps[one].kind == Kind.ADDITION]
            sums = [one for one in sums if flow.is_fixed(next((o for o in one.operands if o != value), value))]
            if len(sums) != 1 or flow.array(sums[0].results[0]).size != flow.array(value).size:
                return -1
            value = sums[0].results[0]
        return value

    def _of_positions(self, embedding: Embedding, path: str) -> Iterator[Item]:
        flow = self.flow
        found = positions_of(
            flow, without_single_rows(flow, embedding), self.model.width_of(embedding), self.model.batch
        )
        kind = ("none", "", 0) if found is None else (found.kind, found.layout, found.start)
        words = "no positions are added" if found is None else f"{found.kind} positions {found.layout}".rstrip()
        words += "" if found is None or not found.start else f" from row {found.start}"
        at = (flow.maker(embedding.value) or 0) if found is None else found.place
        own = path if found is None or not found.path else found.path
        yield Choice("positions", "positions", at, own, kind, words)
        scaled = [term.factor for term in embedding.terms if isinstance(term, Scaled) and isinstance(term.of, Fixed)]
        factor = float(f"{embedding.outer * (scaled[0] if scaled else 1.0):.6g}")
        if found is not None:
            words = f"the positions are multiplied by {factor:g}"
            yield Choice("positions factor", "positions", at, own, factor, words)
        single = single_rows(flow, embedding)
        words = "a row of a table is added to all tokens" if single else "no row of a table is added to all tokens"
        yield Choice("row for all", "embedding", at, path, bool(single), words, "token_type" if not single else "")
        for number, (value, names) in enumerate(single):
            row = flow.array(value).reshape(-1, flow.shape(value)[-1])[0]
            step = flow.maker(value) or 0
            table = self.parameter(names[0]) if len(names) == 1 else None
            yield Weight(f"row for all {number}", "embedding", step, path, row, names, 0.0, stored=table)
        if found is None or found.kind != "learned":
            return
        fixed = [one.lookup for one in embedding.tokens if has_rows(flow, one.lookup)]
        names = fixed[0].names if fixed else (found.path,)
        if len(names) == 1 and names[0] in self.trace.parameters:
            table = flow.array(self.trace.parameters[names[0]])
            rows = table.reshape(-1, table.shape[-1])
            yield Weight("positions table", "positions", found.place, own, rows, names)
            yield from self._order_of_positions(embedding, rows, found.place, own)

    def _order_of_positions(self, embedding: Embedding, table: Array, place: int, path: str) -> Iterator[Choice]:
        """Yield in which order the positions get the rows of their table, read off what is added to the tokens."""
        flow = self.flow
        value = self._made_sum(embedding) if embedding.norm is None else embedding.norm.of.value
        moving = [term.value for term in embedding.terms if not flow.is_fixed(term.value)]
        if value < 0 or not moving or any(flow.array(one).size != flow.array(value).size for one in moving):
            return
        stream = flow.array(value) / embedding.outer
        fixed = [row for row, _ in single_rows(flow, embedding)]
        added = stream - sum(flow.array(one).reshape(stream.shape) for one in moving)
        added = added - sum(flow.array(row).ravel()[-table.shape[-1] :] for row in fixed)
        rows = np.broadcast_to(added, stream.shape).reshape(-1, *stream.shape[-2:])[0]
        if len(rows) * table.size > _MOST_DISTANCES or rows.shape[-1] != table.shape[-1]:
            return
        order = np.abs(rows[:, None] - table[None]).max(axis=-1).argmin(axis=-1)
        if agree(rows, table[order], UNIT):
            steps = np.diff(order)
            words = {True: "one after the other"}.get(bool((steps == 1).all()), f"in the order {order[:8].tolist()}, …")
            kept = "in order" if (steps == 1).all() else tuple(order.tolist())
            yield Choice("order of positions", "positions", place, path, kept, f"positions get their rows {words}")

    def _ends(self) -> Iterator[PortPart]:
        known = {norm.value for one in self.model.readings for _, norm in norms_of(one.place)}
        for number, one in enumerate(self.model.ends if self.model.readings else self.model.ends[-1:]):
            path = common_path(one.names).rpartition(".")[0] or common_path(one.names)
            norm = self._final_norm(one.input, known)
            items = [*norm, *pooling_items(self.flow, one.input, path), *self._unembedding(one, path)]
            yield PortPart(f"unembedding {number}" if number else "unembedding", 0, None, path, one.step, items)
        if not self.model.ends or norm_of_result(self.model) is not None:
            for output in self.trace.outputs[:1]:
                items = list(self._final_norm(output, known))
                if items:
                    yield PortPart("final norm", 0, None, items[0].path, items[0].place, items)

    def _final_norm(self, value: int, known: set[int]) -> Iterator[Item]:
        read = self.model.at_root(self.model.reader.read(value))
        has = isinstance(read, Norm) and read.value not in known
        at = self.flow.maker(value) or 0
        path = path_of_norm(self.flow, read) if isinstance(read, Norm) and has else ""
        slug = "" if has else "missing_final_norm_prenorm"
        yield Choice("final norm", "final_norm", at, path, has, "a final norm" if has else "no final norm", slug)
        inner = read.of if isinstance(read, Norm) else read
        behind = self.model.reader.read(value)
        for key, one in (("activation", inner), ("activation behind the norm", behind if has else None)):
            acts = isinstance(one, Activated)
            step = self.flow.maker(one.value) or at if one is not None and acts else at
            name = one.name if isinstance(one, Activated) else "none"
            words = f"{name} {'behind' if 'behind' in key else 'before'} the final norm"
            yield Choice(key, "activation", step, self.flow.steps[step].module if acts else path, name, words)
        if isinstance(read, Norm) and has:
            yield from norm_items(self.flow, read, "final norm", "final_norm")

    def _unembedding(self, one: LinearMap, path: str) -> Iterator[Item]:
        yield Weight("unembedding", "unembedding", one.step, path, matrix_of(self.flow, one), one.names)
        bias = None if one.bias is None else self.flow.array(one.bias).ravel()
        names = () if one.bias is None else self.flow.parameters_of(one.bias)
        yield Weight("unembedding bias", "unembedding", one.step, path, bias, names, 0.0)
        yield cut(self.flow, "logits", "unembedding", one.output, path)

    def parameter(self, name: str) -> Array:
        """Return a parameter."""
        return np.asarray(self.flow.array(self.trace.parameters[name]))


def relations_but_memory(model: ModelReading, one: Layered) -> Iterator[Aspect]:
    """Yield how a sublayer stands to others; which memory it reads is a place in the trace of its own model."""
    return (each for each in relations(model.flow, model.reader, one, model.readings) if each.name != "memory")
