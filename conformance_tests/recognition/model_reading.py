"""What the record of a pass holds: the sublayers in their layers, each read, with its beginnings and ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from veriformer.adapters.capture.trace import Kind, Trace
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.attentions import read_attention
from veriformer.conformance_tests.recognition.conditions import conditioned_in, conditioners_of, unused_parts
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.embeddings import (
    Embedding,
    embedding_of,
)
from veriformer.conformance_tests.recognition.expressions import Expression, Gated, Norm, Output, Sum, Taken, Unknown
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.layered import LEAST_ROWS, Layered
from veriformer.conformance_tests.recognition.maps import LinearMap, Maps, factors
from veriformer.conformance_tests.recognition.merged_adapters import with_merged_adapters
from veriformer.conformance_tests.recognition.mixtures import Mixture, mixtures_in
from veriformer.conformance_tests.recognition.networks import (
    read_network,
)
from veriformer.conformance_tests.recognition.paths import layer_in, path_of_maps
from veriformer.conformance_tests.recognition.products_by_head import with_whole_products
from veriformer.conformance_tests.recognition.reader import Reader
from veriformer.conformance_tests.recognition.relative_positions import is_of_query
from veriformer.conformance_tests.recognition.repetitions import with_each_once
from veriformer.conformance_tests.recognition.shapes_alone import without_shapes
from veriformer.conformance_tests.recognition.sites import find_sites
from veriformer.conformance_tests.recognition.streams import Place, Streams, leaves
from veriformer.conformance_tests.recognition.sublayers import (
    AttentionSublayer,
    FeedForwardSublayer,
    Sublayer,
    Sublayers,
    each_inside,
    narrowed_maps,
)
from veriformer.conformance_tests.recognition.subtractions import with_sums
from veriformer.conformance_tests.recognition.summed_products import with_wider_products

# "aten.convolution", "conv_general_dilated" and "Conv", and not "convert_element_type".
_CONVOLUTION = re.compile(r"(^|\.)conv(olution|_|\d|$)", re.I)


class ModelReading:
    """The reading of one trace."""

    def __init__(self, trace: Trace) -> None:
        sums = with_sums(with_each_once(without_shapes(trace)))
        self.trace = with_merged_adapters(with_whole_products(with_wider_products(sums)))
        self.flow = Flow(self.trace)
        self.maps = Maps(self.flow)
        self.reader = Reader(self.flow, self.maps, find_sites(self.flow, self.maps, self.batch))
        self.sublayers = Sublayers(self.flow, self.maps, self.reader)
        self.streams = Streams(self.reader, self.sublayers)

    @cached_property
    def batch(self) -> int:
        """The number of samples: that of a fused attention, else of the first input, whose positions may come first."""
        for step in self.trace.steps:
            if step.kind == Kind.ATTENTION and len(self.flow.shape(step.operands[0])) == len("BHLD"):
                return int(self.flow.shape(step.operands[0])[0])
        first = next((self.flow.array(one) for one in self.trace.inputs if self.flow.shape(one)), None)
        # Tokens of one sequence have one axis, its vectors two.
        if first is None or first.ndim == 1:
            return 1
        if first.dtype.kind == "f" and first.ndim == 2:
            if self._is_cut_or_filtered(first):
                # The rows are signals, or series.
                return len(first)
            if self._is_a_sequence(first):
                return 1
        if first.dtype.kind == "f" and first.ndim == 3 and self._is_an_image(first):
            return 1
        return int(first.shape[1 if self._positions_are_first(first.shape) else 0])

    def _positions_are_first(self, shape: tuple[int, ...]) -> bool:
        """Return whether the first axis of the input counts positions, as the logits of the first attention tell.

        They end in two axes of positions, (…, L, L).
        """
        return len(shape) > 1 and shape[0] != shape[1] and self._first_logits[-2:] == (shape[0], shape[0])

    def _is_a_sequence(self, vectors: Array) -> bool:
        """Return whether the rows of vectors are positions of one sequence, and not samples of several numbers each."""
        logits = self._first_logits
        return len(logits) < len("BHLS") or logits[0] != len(vectors) or logits[-2] == len(vectors)

    def _is_cut_or_filtered(self, rows: Array) -> bool:
        """Return whether filters read an input of some rows, or its rows are cut before anything else is done."""
        moved = [value for value in self.trace.inputs if self.flow.array(value) is rows]
        for value in moved:
            steps = [self.flow.steps[user] for user in self.flow.users(value)]
            if any(_CONVOLUTION.search(step.operation) for step in steps):
                return True
            alike = (one for step in steps if step.kind == Kind.REARRANGEMENT for one in step.results)
            moved.extend(one for one in alike if self.flow.array(one).size == rows.size and one not in moved)
        shapes = [self.flow.shape(one) for one in moved]
        return any(len(shape) > rows.ndim and 1 < shape[-1] < rows.shape[-1] for shape in shapes)

    def _is_an_image(self, numbers: Array) -> bool:
        """Return whether numbers (channels, height, width) are one image: its patches are rows, without samples."""
        patches = next((self.flow.shape(one.output) for one in self.maps.linear), ())
        logits = self._first_logits
        without_samples = len(logits) == len("HLS") and len(patches) == len("LE")
        return without_samples and patches[0] <= logits[-2] and patches[0] != numbers.shape[0] * numbers.shape[1]

    @cached_property
    def _first_logits(self) -> tuple[int, ...]:
        """The shape of the logits of the first attention; empty where there is none."""
        return next((self.flow.shape(self.flow.steps[one].results[0]) for one in self.maps.products), ())

    @cached_property
    def layered(self) -> tuple[Layered, ...]:
        """Every sublayer, with the layer and the stack that it is in."""
        found = []
        stacks: list[frozenset[int]] = []
        layers: list[int] = []
        networks: list[set[int]] = []
        for place in self.streams.places:
            read = {one.value for one in leaves(place.input)}
            root = self._root(place, read)
            if root not in stacks:
                stacks.append(root)
                layers.append(0)
                networks.append(set())
            stack = stacks.index(root)
            if read & networks[stack]:
                # What reads the output of a layer's network is in the next layer; experts side by side are in one.
                layers[stack] += 1
                networks[stack].clear()
            sublayer = place.sublayer
            path = path_of_maps(self.flow, (*sublayer.entries, sublayer.exit))
            rows = self._rows_of(sublayer)
            by_head = isinstance(sublayer, AttentionSublayer) and self._acts_by_head(sublayer)
            kind = self._kind(place)
            found.append(Layered(place, kind, path, stack, layers[stack], rows=rows, by_head=by_head))
            if isinstance(sublayer, FeedForwardSublayer):
                networks[stack].update((sublayer.exit.output, sublayer.exit.product))
        return tuple(found)

    def _root(self, place: Place, read: set[int]) -> frozenset[int]:
        """Return the values that the stream of a sublayer begins with.

        What is inside of something unknown, such as the router of experts, begins no stream.
        """
        outside = {one.value for one in leaves(place.input, lambda one: isinstance(one, Output | Unknown))}
        return frozenset(outside & self._beginnings) or frozenset(read & self._beginnings)

    def _acts_by_head(self, sublayer: AttentionSublayer) -> bool:
        """Return whether a map has several matrices, each for its own part of what comes in."""
        for one in (*sublayer.query, *sublayer.key, *sublayer.value, sublayer.exit):
            step = self.flow.steps[one.step]
            if "parallel" in step.attributes:
                shape = self.flow.shape(one.weight)
                axes = step.attributes["parallel"][factors(step).index(one.weight)]
                if any(shape[axis] > 1 for axis in axes):
                    return True
        return False

    def _rows_of(self, sublayer: Sublayer) -> int:
        """Return how many vectors a sublayer ran on, where others of its stream ran on more; enough elsewhere.

        What ran on NaN alone ran on none: whatever made them is what can be judged.
        """
        if np.isnan(self.flow.array(sublayer.entry.input)).all():
            return 0
        rows = self.flow.array(sublayer.entry.input).size // max(self.maps.width_in(sublayer.entry), 1)
        most = max((self.flow.array(one.input).size for one in self.maps.linear), default=0)
        return rows if most > self.flow.array(sublayer.entry.input).size else max(rows, LEAST_ROWS)

    @cached_property
    def mixtures(self) -> tuple[Mixture, ...]:
        """The mixtures of experts."""
        return tuple(mixtures_in(self.flow, self.sublayers, self.layered))

    @cached_property
    def _beginnings(self) -> frozenset[int]:
        """The values that streams begin with: rows of tables, and maps of the model's inputs."""
        inside = {one.exit.step for one in self.sublayers.all}
        others = {one.output for one in self.maps.linear if one.step not in inside}
        return frozenset({one.output for one in self.maps.lookups} | others)

    def _kind(self, place: Place) -> str:
        sublayer = place.sublayer
        if isinstance(sublayer, FeedForwardSublayer):
            return "feed_forward"
        is_own = self._attends_to_itself(sublayer) or self.borrows_keys(sublayer)
        return "self_attention" if is_own else "cross_attention"

    def borrows_keys(self, sublayer: AttentionSublayer) -> bool:
        """Return whether an attention reuses the keys that an earlier one has made of the same stream."""
        own = {one.step for one in sublayer.key}
        others = (one for one in self.sublayers.all if isinstance(one, AttentionSublayer) and one is not sublayer)
        return any(self._attends_to_itself(one) for one in others if own & {map_.step for map_ in one.key})

    def _attends_to_itself(self, sublayer: AttentionSublayer) -> bool:
        query, key = (self.reader.read(sublayer.reading(one).input) for one in (sublayer.query[0], sublayer.key[0]))
        return query.value == key.value

    @cached_property
    def readings(self) -> tuple[Layered, ...]:
        """Every sublayer, read. What most attentions are is tried for those that nothing else explains."""
        for one in self.layered:
            if isinstance(one.place.sublayer, FeedForwardSublayer):
                one.network = read_network(self.reader, one.place.sublayer)
            else:
                one.attention = read_attention(self.flow, one.place.sublayer, [])
        for one in self.layered:
            if one.attention is not None and one.attention.setting is None:
                one.attention = read_attention(self.flow, one.attention.sublayer, self.settings(one))
        for one in (expert for mixture in self.mixtures for expert in mixture.experts):
            one.is_expert = True
        return self.layered

    def settings(self, but: Layered) -> list[Setting]:
        """Return the settings of the other attentions of the same kind, those of the same stack first."""
        others = [one for one in self.layered if one is not but and one.kind == but.kind and one.attention is not None]
        others.sort(key=lambda one: one.stack != but.stack)
        return [one.attention.setting for one in others if one.attention and one.attention.setting is not None]

    @cached_property
    def has_relative_positions(self) -> bool:
        """Whether any attention adds a table to its logits."""
        settings = [one.attention.setting for one in self.readings if one.attention is not None]
        biases = [one for one in settings if one is not None and one.bias is not None]
        return any(one.bias_value is None or not is_of_query(self.flow, one.bias_value) for one in biases)

    @property
    def may_leave_out_scale(self) -> bool:
        """Whether logits without a scale are those of a published model, which has it in its initial weights.

        T5 has relative positions. GPT-Neo has query, key and value without biases, the output with one, and the
        approximation of GELU, in all layers.
        """
        attentions = [one.place.sublayer for one in self.readings if isinstance(one.place.sublayer, AttentionSublayer)]
        networks = [one.network for one in self.readings if one.network is not None]
        of_neo = all(one.exit.bias is not None and all(m.bias is None for m in one.entries) for one in attentions)
        separate = all(len(one.entries) == len(("query", "key", "value")) for one in attentions)
        approximated = bool(networks) and all(one.activation == "gelu_tanh" for one in networks)
        return self.has_relative_positions or (of_neo and separate and approximated)

    @cached_property
    def embeddings(self) -> tuple[tuple[int, Embedding], ...]:
        """The beginning of each stack."""
        found: dict[int, Embedding] = {}
        for one in self.readings:
            stream = _without_its_norm(one.place)
            inner = stream.of if one.place.before is None and isinstance(stream, Norm) else stream
            if one.stack not in found and one.layer == 0 and not self._has_sublayer(inner):
                found[one.stack] = embedding_of(stream)
        return tuple(found.items())

    def _has_sublayer(self, expression: Expression) -> bool:
        exits = {one.exit.output for one in self.sublayers.all} | {one.exit.product for one in self.sublayers.all}
        return any(one.value in exits for one in leaves(expression))

    @cached_property
    def ends(self) -> tuple[LinearMap, ...]:
        """The maps after the last sublayer, such as the unembedding."""
        last = max((one.first_step for one in self.layered), default=-1)
        others = {one.router.step for one in self.mixtures} | {one.step for one in self.conditioners}
        return tuple(one for one in self.sublayers.others if one.step > last and one.step not in others)

    @cached_property
    def conditioned(self) -> tuple[Norm | Gated, ...]:
        """The norms and outputs of sublayers to which each sample has a vector of its own, in order."""
        return conditioned_in(self.streams.ends)

    @cached_property
    def conditioners(self) -> tuple[LinearMap, ...]:
        """The maps that give the vectors of samples, and those before them, in order."""
        return conditioners_of(self.conditioned, self.reader, self.sublayers.others)

    @cached_property
    def other_norms(self) -> tuple[Norm, ...]:
        """The norms of what maps read that are before no sublayer that was read, and no end.

        Such a map projects heads from a latent inside of an attention, is a router whose experts are no sublayers, or
        of something that was not recognised. What has neither gain nor shift may be a standardised input.
        """
        read = [one for one in self.layered if one.attention is not None or one.network is not None]
        known = {map_.step for one in read for map_ in _maps_of(one.place.sublayer)} | {one.step for one in self.ends}
        maps = [one for one in self.maps.linear if one.step not in known]
        maps += [map_ for one in read for map_ in narrowed_maps(one.place.sublayer)]
        norms = {
            one.value: one for one in (_alone(self.reader.read(map_.input)) for map_ in maps) if isinstance(one, Norm)
        }
        learned = (one for one in norms.values() if one.gain is not None or one.shift is not None)
        return tuple(one for one in learned if not one.is_unknown)

    @cached_property
    def ends_of_memories(self) -> tuple[int, ...]:
        """The values that attentions across read their keys from: where the stream of an encoder ends."""
        across = (one.attention for one in self.readings if one.kind == "cross_attention" and one.attention is not None)
        sublayers = [attention.sublayer for attention in across]
        return tuple(dict.fromkeys(self.flow.source(one.reading(one.key[0]).input) for one in sublayers))

    def is_last(self, one: Layered) -> bool:
        """Return whether a sublayer is the last of its stack, or parallel to it."""
        same = [other for other in self.layered if other.stack == one.stack]
        return same[-1] is one or same[-1].place.result is one.place.result is not None

    def is_beside_attention(self, one: Layered) -> bool:
        """Return whether a network and an attention read the same stream and are added to it in one sum."""
        same = (other for other in self.readings if (other.stack, other.layer) == (one.stack, one.layer))
        total = one.place.result
        return any(other.attention is not None and total is not None and other.place.result is total for other in same)

    def width_of(self, embedding: Embedding) -> int:
        """Return the width of the stream that begins so; towers and stacks may have different ones."""
        shapes = [self.flow.shape(term.value) for term in embedding.terms if term.value >= 0]
        return max(shapes, key=len)[-1] if any(shapes) else self.sublayers.width

    def path_of_embedding(self, embedding: Embedding) -> str:
        """Return the module of the first table that a stream begins with, the name of the table outside of modules."""
        names = [name.rpartition(".")[0] or name for one in embedding.tokens for name in one.lookup.names]
        return names[0] if names else ""

    def unused(self) -> tuple[str, ...]:
        """Return the parameters that no output depends on; whole numbers among them count or seed something."""
        return tuple(
            value.name
            for index, value in enumerate(self.trace.values)
            if value.origin == "parameter" and value.array.dtype.kind != "i" and index not in self._behind_outputs
        )

    def biases_of_keys(self) -> tuple[str, ...]:
        """Return the parameters that are biases of keys alone; where keys are not turned, no result depends on them."""
        sublayers = [one.attention.sublayer for one in self.readings if one.attention is not None]
        shared = {map_.step for one in sublayers for map_ in (*one.query, *one.value)}
        keys = [map_ for one in sublayers for map_ in one.key if map_.step not in shared and map_.bias is not None]
        return tuple(name for one in keys if one.bias is not None for name in sorted(self.flow.parameters_of(one.bias)))

    @cached_property
    def first_maps(self) -> tuple[LinearMap, ...]:
        """The maps that streams begin with."""
        beginnings = (leaf for _, one in self.embeddings for term in one.terms for leaf in leaves(term))
        return tuple(dict.fromkeys(one.map for one in beginnings if isinstance(one, Output)))

    @cached_property
    def other_maps(self) -> tuple[LinearMap, ...]:
        """The maps before a stream or a memory that are no sublayer's, no end, and not what a stream begins with."""
        known = {one.step for one in (*self.first_maps, *self.ends)}
        known |= {one.router.step for one in self.mixtures}
        # What no token was sent to gives nothing.
        others = (one for one in self.sublayers.others if one.step not in known)
        return tuple(one for one in others if self.flow.array(one.output).size)

    def unused_conditions(self) -> tuple[str, ...]:
        """Return the parts of the vectors of samples that are made and not used, with the maps that make them."""
        return tuple(
            f"{part} of {path_of_maps(self.flow, (one,))}"
            for one in self.conditioners
            for part in unused_parts(self.flow, self.conditioned, one)
        )

    def unused_inputs(self) -> tuple[str, ...]:
        """Return the arguments that no output depends on, though they were handed over."""
        named = {self.trace.values[index].name: index for index in self.trace.inputs}
        return tuple(name for name, index in named.items() if name.isidentifier() and index not in self._behind_outputs)

    @cached_property
    def _behind_outputs(self) -> frozenset[int]:
        return frozenset(one for output in self.trace.outputs for one in self.flow.ancestors(output))

    def makers_behind(self, value: int) -> set[int]:
        """Return the steps that a value was made by, in however many steps."""
        made = (self.flow.maker(one) for one in self.flow.ancestors(value))
        return {one for one in made if one is not None}

    def is_vector(self, name: str) -> bool:
        """Return whether a parameter has one axis."""
        return self.flow.array(self.trace.parameters[name]).ndim == 1

    def acts_on_a_part(self, name: str) -> bool:
        """Return whether a vector acts on fewer vectors than the last sublayer gives, as in a pooler."""
        whole = max((self.flow.array(one.place.sublayer.exit.output).size for one in self.readings), default=0)
        users = self.flow.users(self.trace.parameters[name])
        made = [self.flow.array(one).size for user in users for one in self.flow.steps[user].results]
        return self.is_vector(name) and bool(made) and max(made) < whole

    def is_outside_of_layers(self, one: Layered) -> bool:
        """Return whether a network stands in no numbered layer, where all attentions do: it merges, or is a head."""
        if one.network is None or layer_in(one.path) is not None or one.place.residual != "none":
            return False
        return all(layer_in(other.path) is not None for other in self.readings if other.attention is not None)

    def length(self) -> int:
        """Return the number of queries of the first attention, 1 without any."""
        attentions = (one.attention for one in self.readings if one.attention is not None)
        return next((int(one.heads.query.shape[2]) for one in attentions), 1)

    def at_root(self, expression: Expression) -> Expression:
        """Return the norm or sum that is scaled, cut or pooled here; the expression itself where there is none."""
        inside = each_inside(expression, lambda one: isinstance(one, Norm | Sum | Output))
        return next((one for one in inside if isinstance(one, Norm | Sum)), expression)


def _alone(read: Expression) -> Expression:
    """Return what was joined with nothing but an empty cache."""
    return read.of[0] if isinstance(read, Taken) and len(read.of) == 1 else read


def _maps_of(sublayer: Sublayer) -> Iterator[LinearMap]:
    """Yield the maps that a sublayer has."""
    yield from sublayer.entries
    yield sublayer.exit
    if isinstance(sublayer, AttentionSublayer):
        yield from (*sublayer.query, *sublayer.key, *sublayer.value)
    else:
        yield from sublayer.inner


def _without_its_norm(place: Place) -> Expression:
    """Return the stream that a sublayer is added to, without a norm of the stream that is added once more."""
    stream = place.stream
    if not isinstance(stream, Sum):
        return place.input if stream is None else stream
    values = {term.value for term in stream.terms}
    terms = tuple(term for term in stream.terms if not (isinstance(term, Norm) and term.of.value in values))
    return stream if len(terms) == len(stream.terms) else terms[0] if len(terms) == 1 else Sum(-1, terms)
