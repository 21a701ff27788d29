"""From the record of a forward pass to the model's parts and departures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from veriformer.adapters.capture.trace import Kind, Trace
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.aspects import Aspect, OddOne, Sibling, odd_ones
from veriformer.conformance_tests.recognition.attention_aspects import attention_aspects, describe_rotation
from veriformer.conformance_tests.recognition.attention_mistakes import attention_mistakes
from veriformer.conformance_tests.recognition.attentions import AttentionReading, read_attention
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.embeddings import (
    Embedding,
    embedding_mistakes,
    embedding_of,
    positions_of,
)
from veriformer.conformance_tests.recognition.expressions import Attended, Expression, Norm, Output, Sum
from veriformer.conformance_tests.recognition.findings import Departure, Part, Recognition, Status, StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.maps import LinearMap, Maps
from veriformer.conformance_tests.recognition.networks import (
    network_aspects,
    network_mistakes,
    read_network,
)
from veriformer.conformance_tests.recognition.paths import code_of, common_path, layer_in, path_of_maps, step_by_name
from veriformer.conformance_tests.recognition.reader import Reader
from veriformer.conformance_tests.recognition.sites import Site, find_sites
from veriformer.conformance_tests.recognition.stream_parts import (
    norm_mistakes,
    norms_of,
    path_of_norm,
    place_aspects,
    place_mistakes,
    summary_of,
)
from veriformer.conformance_tests.recognition.streams import Place, Streams, leaves
from veriformer.conformance_tests.recognition.structure import relations, structural_mistakes
from veriformer.conformance_tests.recognition.sublayers import (
    AttentionSublayer,
    FeedForwardSublayer,
    Sublayers,
    inner_expressions,
)
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected

# Words in the names of operations that draw numbers, in torch, XLA and ONNX.
_RANDOM = ("dropout", "bernoulli", "rand", "random", "threefry", "Dropout", "Random", "Bernoulli")


def recognise(trace: Trace) -> Recognition:
    """Return the parts of the model whose forward pass was recorded, and where it departs from what it is."""
    return _Model(trace).recognition()


class _Model:
    """The reading of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.flow = Flow(trace)
        self.maps = Maps(self.flow)
        self.reader = Reader(self.flow, self.maps, find_sites(self.flow, self.maps, self._batch()))
        self.sublayers = Sublayers(self.flow, self.maps, self.reader)
        self.streams = Streams(self.reader, self.sublayers)

    def _batch(self) -> int:
        """Return the number of samples: that of a fused attention, else the first axis of the first input."""
        for step in self.trace.steps:
            if step.kind == Kind.ATTENTION and len(self.flow.shape(step.operands[0])) == len("BHLD"):
                return int(self.flow.shape(step.operands[0])[0])
        shapes = [self.flow.shape(one) for one in self.trace.inputs if self.flow.shape(one)]
        return int(shapes[0][0]) if shapes else 1

    def recognition(self) -> Recognition:
        departures = self._departures()
        parts = tuple(sorted(self._parts(departures), key=lambda part: part.place))
        captured, understood = self._coverage()
        return Recognition(
            parts,
            departures,
            captured,
            understood,
            self._unused(),
            self.trace.framework,
            self.trace.dtype,
            self.trace.opaque,
        )

    # What there is.

    @cached_property
    def layered(self) -> tuple[Layered, ...]:
        """Every sublayer, with the layer and the stack that it is in."""
        found = []
        stacks: list[frozenset[int]] = []
        layers: list[int] = []
        for place in self.streams.places:
            root = frozenset(one.value for one in leaves(place.input)) & self._beginnings
            if root not in stacks:
                stacks.append(root)
                layers.append(0)
            stack = stacks.index(root)
            sublayer = place.sublayer
            path = path_of_maps(self.flow, (*sublayer.entries, sublayer.exit))
            found.append(Layered(place, self._kind(place), path, stack, layers[stack]))
            if isinstance(sublayer, FeedForwardSublayer):
                layers[stack] += 1
        return tuple(found)

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
        query, key = (self.reader.read(one.input) for one in (sublayer.query[0], sublayer.key[0]))
        return "self_attention" if query.value == key.value else "cross_attention"

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
                one.attention = read_attention(self.flow, one.attention.sublayer, self._settings(one))
        return self.layered

    def _settings(self, but: Layered) -> list[Setting]:
        """Return the settings of the other attentions of the same kind, those of the same stack first."""
        others = [one for one in self.layered if one is not but and one.kind == but.kind and one.attention is not None]
        others.sort(key=lambda one: one.stack != but.stack)
        return [one.attention.setting for one in others if one.attention and one.attention.setting is not None]

    @cached_property
    def _has_relative_positions(self) -> bool:
        settings = [one.attention.setting for one in self.readings if one.attention is not None]
        return any(setting is not None and setting.bias is not None for setting in settings)

    @cached_property
    def embeddings(self) -> tuple[tuple[int, Embedding], ...]:
        """The beginning of each stack."""
        found: dict[int, Embedding] = {}
        for one in self.readings:
            stream = one.place.stream if one.place.stream is not None else one.place.input
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
        return tuple(one for one in self.sublayers.others if one.step > last)

    # What is wrong.

    def _departures(self) -> tuple[Departure, ...]:
        found: list[Departure] = []
        for one in self.readings:
            one.suspicions = list(self._suspicions(one))
        for one, item in structural_mistakes(self.flow, self.reader, self.readings):
            one.suspicions.append(item)
        for one in self.readings:
            found.extend(
                self._departure(self._path_of(one, item), one.layer, one.kind, item) for item in one.suspicions
            )
        found.extend(self._of_siblings())
        found.extend(self._of_beginnings())
        found.extend(self._of_ends())
        found.extend(self._of_randomness())
        found.extend(self._of_missing_maps())
        found.extend(one for one in self._of_unused() if not _explained_by(one, found))
        return _each_once(sorted(found, key=lambda one: (one.place, not one.suspects)))

    def _suspicions(self, one: Layered) -> Iterator[Suspicion]:
        yield from place_mistakes(self.flow, one.place, self.streams.places)
        if one.attention is not None:
            yield from attention_mistakes(
                self.flow,
                one.attention,
                self._settings(one),
                relative=self._has_relative_positions,
                d_model=self.sublayers.width,
            )
        if one.network is not None:
            yield from network_mistakes(self.flow, one.network)

    def _departure(self, path: str, layer: int | None, operation: str, item: Suspicion) -> Departure:
        file, line = code_of(self.flow, item.place)
        return Departure(
            item.path or path, layer, item.step, operation, file, line, item.sentence, item.suspects, item.place
        )

    def _path_of(self, one: Layered, item: Suspicion) -> str:
        """Return the module that a mistake is in: a residual is where the sum is made."""
        module = self.flow.steps[item.place].module if 0 <= item.place < len(self.flow.steps) else ""
        return module if item.step == "residual" and module else one.path

    def _of_siblings(self) -> Iterator[Departure]:
        for kind, siblings in self._families():
            by_path = {id(sibling): one for one, sibling in siblings}
            for odd in odd_ones([sibling for _, sibling in siblings]):
                one = by_path[id(odd.sibling)]
                if self._follows_from_others(one, odd.aspect):
                    continue
                item = _suspicion_of(odd, len(siblings))
                if item.step == "norm" and not item.path:
                    item = replace(item, path=self._unused_norm_in(one))
                yield self._departure(one.path, one.layer, kind, item)

    def _follows_from_others(self, one: Layered, aspect: Aspect) -> bool:
        """Return whether a difference from the siblings is said already, by a mistake that was found."""
        if any(item.step == aspect.step for item in one.suspicions):
            return True
        if aspect.name == "columns":
            return any(item.step in ("query", "key", "value") for item in one.suspicions)
        if aspect.name == "core" or aspect.name.endswith("understood"):
            return bool(one.suspicions)
        same = [other for other in self.readings if other.stack == one.stack]
        after = same[same.index(one) + 1 : same.index(one) + 2]
        if aspect.name.startswith("norm before"):
            return _adds_to_the_normed(one)
        return aspect.name.startswith("norm after") and any(_adds_to_the_normed(other) for other in after)

    def _families(self) -> Iterator[tuple[str, list[tuple[Layered, Sibling]]]]:
        """Yield the sublayers that should be alike: those of one kind in one stack."""
        groups: dict[tuple[int, str], list[Layered]] = {}
        for one in self.readings:
            groups.setdefault((one.stack, one.kind), []).append(one)
        for (_, kind), members in groups.items():
            yield kind, [(one, self._sibling(one)) for one in members]

    def _sibling(self, one: Layered) -> Sibling:
        aspects: list[Aspect] = list(place_aspects(self.flow, one.place, one.kind))
        if self._is_last(one):
            # After the last sublayer the final norm stands where the norm after would be.
            aspects = [aspect for aspect in aspects if "norm after" not in aspect.name]
        aspects.extend(relations(self.flow, self.reader, one, self.readings))
        if one.attention is not None:
            aspects.extend(attention_aspects(self.flow, one.attention))
        if one.network is not None:
            aspects.extend(network_aspects(one.network))
        return Sibling(one.path, one.layer, {aspect.name: aspect for aspect in aspects})

    def _is_last(self, one: Layered) -> bool:
        same = [other for other in self.layered if other.stack == one.stack]
        return same[-1] is one or same[-1].place.result is one.place.result is not None

    def _of_beginnings(self) -> Iterator[Departure]:
        for _, embedding in self.embeddings:
            path = self._path_of_embedding(embedding)
            for item in self._embedding_mistakes(embedding):
                yield self._departure(path, None, "token_embedding", item)
            if embedding.norm is not None:
                for item in norm_mistakes(self.flow, embedding.norm, "embedding"):
                    yield self._departure(path, None, "layer_norm", item)

    def _embedding_mistakes(self, embedding: Embedding) -> Iterator[Suspicion]:
        again = [item for one in self.readings for item in one.suspicions if _names(item, "pe_added_every_block")]
        for item in embedding_mistakes(self.flow, embedding, self.sublayers.width, self._batch()):
            # Positions that are added before each layer are added twice before the first.
            yield replace(item, suspects=again[0].suspects) if again and _names(item, "pe_input_added_twice") else item

    def _path_of_embedding(self, embedding: Embedding) -> str:
        names = [name.rpartition(".")[0] or name for one in embedding.tokens for name in one.lookup.names]
        return names[0] if names else ""

    def _of_ends(self) -> Iterator[Departure]:
        for path, value, place in self._ends_of_stacks():
            read = self._at_root(self.reader.read(value))
            if isinstance(read, Norm):
                for item in norm_mistakes(self.flow, read, "final_norm"):
                    yield self._departure(path_of_norm(self.flow, read), None, read.kind, item)
            elif isinstance(read, Sum) and self._is_pre_norm(read):
                sentence = "the stream ends without a norm, though every layer normalises what it reads"
                item = Suspicion("final_norm", place, sentence, (suspected("missing_final_norm_prenorm"),))
                yield self._departure(self._unused_norm() or path, None, "norm", item)
        yield from self._of_output()

    def _ends_of_stacks(self) -> Iterator[tuple[str, int, int]]:
        """Yield where a stream is read after its last layer: by the last map, or by attentions across."""
        for one in self.ends[:1]:
            yield common_path(one.names).rpartition(".")[0], one.input, one.step
        for layered in self.readings:
            if layered.kind == "cross_attention" and layered.attention is not None:
                key = layered.attention.sublayer.key[0]
                yield layered.path, key.input, key.step
                return

    def _at_root(self, expression: Expression) -> Expression:
        """Return the norm or sum that is scaled, cut or pooled here; the expression itself where there is none."""
        if isinstance(expression, Norm | Sum | Output):
            return expression
        inner = (self._at_root(one) for one in inner_expressions(expression))
        return next((one for one in inner if isinstance(one, Norm | Sum)), expression)

    def _is_pre_norm(self, total: Sum) -> bool:
        """Return whether every sublayer whose output is in a sum normalises what it reads, and that alone."""
        values = {term.value for term in total.terms}
        inside = [place for place in self.streams.places if self._exit_in(place, values)]
        return bool(inside) and all(place.before is not None and place.after is None for place in inside)

    def _exit_in(self, place: Place, values: set[int]) -> bool:
        one = place.sublayer.exit
        return one.output in values or one.product in values

    def _of_output(self) -> Iterator[Departure]:
        """Yield that what the last map gives is normalised along another axis than its last."""
        if not self.ends or not self.trace.outputs:
            return
        logits, output = self.flow.array(self.ends[-1].output), self.flow.array(self.trace.outputs[0])
        if logits.size != output.size or output.ndim < 2 or np.array_equal(logits.ravel(), output.ravel()):
            return
        shaped = logits.reshape(output.shape)
        for axis in range(output.ndim - 1):
            weights = np.exp(shaped - shaped.max(axis=axis, keepdims=True))
            weights /= weights.sum(axis=axis, keepdims=True)
            if agree(output, weights) or agree(output, np.log(weights)):
                sentence = f"the outputs are normalised over axis {axis}, and not over the vocabulary"
                place = self.flow.maker(self.trace.outputs[0]) or len(self.flow.steps) - 1
                item = Suspicion("unembedding", place, sentence, (suspected("softmax_wrong_axis"),))
                yield self._departure(common_path(self.ends[-1].names).rpartition(".")[0], None, "unembedding", item)

    def _unused_norm_in(self, one: Layered) -> str:
        """Return the module of the unused vectors beside a sublayer: the norm that it should have."""
        around = one.path.rpartition(".")[0]
        names = [name for name in self._unused() if self._is_vector(name) and around and name.startswith(f"{around}.")]
        names = [name for name in names if not name.startswith(f"{one.path}.") and "bias" not in name]
        return names[0].rpartition(".")[0] if names else ""

    def _unused_norm(self) -> str:
        """Return the module of the vectors of the stream's width that nothing uses, in no layer."""
        names = [name for name in self._unused() if self._is_vector(name) and layer_in(name) is None]
        return names[0].rpartition(".")[0] if names else ""

    def _unused(self) -> tuple[str, ...]:
        behind: set[int] = set()
        for output in self.trace.outputs:
            behind.update(self.flow.ancestors(output))
        return tuple(
            value.name
            for index, value in enumerate(self.trace.values)
            if value.origin == "parameter" and index not in behind
        )

    def _of_unused(self) -> Iterator[Departure]:
        """Yield the parameters that no output depends on, though their module runs or other layers use theirs."""
        unused = self._unused()
        groups: dict[str, list[str]] = {}
        for name in unused:
            if self._should_be_used(name, unused):
                groups.setdefault(self._group(name, unused), []).append(name)
        for path, names in groups.items():
            step, place = self._step_of_unused(path, names)
            sentence = f"the result does not depend on {', '.join(names[:4])}{' …' if len(names) > 4 else ''}"
            slug = _DROPPED.get(step, "") if all(self._is_vector(name) for name in names) else ""
            suspects = (suspected(slug, 0.9),) if slug else ()
            yield self._departure(path, layer_in(path), "", Suspicion(step, place, sentence, suspects))

    def _should_be_used(self, name: str, unused: Sequence[str]) -> bool:
        used = [one for one in self.trace.parameters if one not in unused]
        pattern, module = _pattern(name), name.rpartition(".")[0]
        if pattern != name and any(_pattern(one) == pattern for one in used):
            return True
        if any(lookup.names == (name,) for lookup in self.maps.lookups):
            return True
        if self._is_of_the_stream(name):
            return True
        beside = any(one.rpartition(".")[0] == module for one in used) if module else False
        return beside or any(step.module == module for step in self.flow.steps if module)

    def _is_of_the_stream(self, name: str) -> bool:
        """Return whether a parameter is a gain, a shift, or a table with a row for each position or token."""
        array = self.flow.array(self.trace.parameters[name])
        width = self.sublayers.width
        if array.ndim == 1:
            return array.size > 1
        return bool(width) and array.shape[-1] == width and array.size > width and "mask" not in name

    def _group(self, name: str, unused: Sequence[str]) -> str:
        """Return the module of an unused parameter: the whole layer where nothing of it is used."""
        pieces = name.split(".")
        for end, piece in enumerate(pieces, start=1):
            layer = ".".join(pieces[:end])
            if piece.isdigit() and all(one in unused for one in self.trace.parameters if one.startswith(f"{layer}.")):
                return layer
        return name.rpartition(".")[0] or name

    def _step_of_unused(self, path: str, names: Sequence[str]) -> tuple[StepName, int]:
        """Return the step that unused parameters belong to, and where it is in the trace."""
        for lookup in self.maps.lookups:
            if set(lookup.names) & set(names):
                return ("positions" if self.flow.is_fixed(lookup.rows) else "embedding"), lookup.step
        tables = [self.flow.array(self.trace.parameters[name]) for name in names]
        if layer_in(path) is None and all(
            table.ndim > 1 and table.shape[-1] == self.sublayers.width for table in tables
        ):
            rows = min(int(np.prod(table.shape[:-1])) for table in tables)
            return ("positions" if rows >= self._length() else "embedding"), 0
        running = [index for index, step in enumerate(self.flow.steps) if path and step.module == path]
        place = running[0] if running else len(self.flow.steps) - 1
        for one in self.readings:
            for step, maps in self._steps_of_maps(one):
                if any(name.rpartition(".")[0] == path for map_ in maps for name in map_.names):
                    return step, maps[0].step
        if any(name.rpartition(".")[0] == path for one in self.ends for name in one.names):
            return "unembedding", place
        named = step_by_name(names[0])
        if named is not None:
            return named, place
        for one in self.readings:
            if one.network is not None and one.path and path.startswith(f"{one.path}."):
                return "hidden", place
        if all(self._is_vector(name) for name in names):
            return ("norm" if layer_in(path) is not None or self._is_before_layers(names[0]) else "final_norm"), place
        return "residual", place

    def _length(self) -> int:
        return (
            int(self.readings[0].attention.heads.query.shape[2]) if self.readings and self.readings[0].attention else 1
        )

    def _is_before_layers(self, name: str) -> bool:
        """Return whether a parameter is declared before those of the layers."""
        names = list(self.trace.parameters)
        layers = [index for index, one in enumerate(names) if layer_in(one) is not None]
        return bool(layers) and names.index(name) < layers[0]

    def _steps_of_maps(self, one: Layered) -> Iterator[tuple[StepName, tuple[LinearMap, ...]]]:
        sublayer = one.place.sublayer
        if isinstance(sublayer, FeedForwardSublayer):
            yield "hidden", sublayer.inner
            yield "feed_forward", (sublayer.exit,)
            return
        yield "query", sublayer.query
        yield "key", sublayer.key
        yield "value", sublayer.value
        yield "attention_output", (sublayer.exit,)

    def _of_randomness(self) -> Iterator[Departure]:
        """Yield where numbers are drawn in evaluation mode: dropout that was not switched off."""
        behind: set[int] = set()
        for output in self.trace.outputs:
            behind.update(self.flow.ancestors(output))
        for index, step in enumerate(self.flow.steps):
            if not any(word in step.operation for word in _RANDOM) or behind.isdisjoint(step.results):
                continue
            at = next((one for one in self.readings if one.first_step <= index <= one.place.sublayer.exit.step), None)
            path = step.module or (at.path if at is not None else "")
            name: StepName = "residual"
            if at is not None:
                name = "weights" if at.attention is not None else "activation"
            sentence = "numbers are drawn in evaluation mode, so that each call gives another result"
            suspects = (suspected("dropout_active_in_eval"),)
            layer = at.layer if at is not None else None
            yield self._departure(
                at.path if at is not None else path, layer, "", Suspicion(name, index, sentence, suspects)
            )
            return

    def _of_missing_maps(self) -> Iterator[Departure]:
        """Yield the attentions whose heads go into the stream without an output projection."""
        inside = {
            site.output_value for one in self.sublayers.all if isinstance(one, AttentionSublayer) for site in one.sites
        }
        for site in self.reader.sites:
            maps = self.sublayers.nearest_maps(site.query_value)
            if site.output_value in inside or not maps or not self.readings:
                continue
            used = any(_mentions(end, site) for end in self.streams.ends)
            if used:
                path = path_of_maps(self.flow, [*maps, *self.sublayers.nearest_maps(site.value_value)])
                path = path if len(maps) > 1 or "." not in path else path.rpartition(".")[0]
                sentence = "the heads' outputs go into the stream without an output projection"
                item = Suspicion("attention_output", site.steps[-1], sentence, (suspected("out_proj_missing"),))
                yield self._departure(path, layer_in(path), "self_attention", item)

    def _is_vector(self, name: str) -> bool:
        return self.flow.array(self.trace.parameters[name]).ndim == 1

    # What the parts are.

    def _parts(self, departures: Sequence[Departure]) -> Iterator[Part]:
        for _, embedding in self.embeddings:
            yield from self._embedding_parts(embedding, departures)
        for one in self.readings:
            yield from self._norm_parts(one, departures)
            yield self._part(one, departures)
        for map_ in self.ends:
            yield from self._end_parts(map_, departures)

    def _status(self, path: str, layer: int | None, steps: set[str], departures: Sequence[Departure]) -> Status:
        return "departs" if any(one.path == path and one.step in steps for one in departures) else "holds"

    def _embedding_parts(self, embedding: Embedding, departures: Sequence[Departure]) -> Iterator[Part]:
        path = self._path_of_embedding(embedding)
        status = self._status(path, None, {"embedding", "positions"}, departures)
        place = min((one.lookup.step for one in embedding.tokens), default=0)
        factor = "" if embedding.factor == 1.0 else f", times {embedding.factor:.4g}"
        positions = positions_of(self.flow, embedding, self.sublayers.width, self._batch())
        added = ""
        conventions: dict[str, str | float | int | bool] = {"factor": embedding.factor}
        if positions is not None:
            added = f", {positions.kind} positions" + (f" ({positions.layout})" if positions.layout else "")
            conventions["positions"] = positions.kind
        norm = f", {summary_of(embedding.norm)}" if embedding.norm is not None else ""
        count = len(embedding.terms)
        yield Part(
            path,
            "token_embedding",
            None,
            f"token_embedding{factor}{added}{norm}",
            conventions,
            status,
            count,
            count,
            place,
        )

    def _norm_parts(self, one: Layered, departures: Sequence[Departure]) -> Iterator[Part]:
        for where, norm in norms_of(one.place):
            path = path_of_norm(self.flow, norm) or one.path
            understood = norm.kind != "norm"
            status: Status = self._status(one.path, one.layer, {"norm"}, departures) if understood else "unrecognised"
            conventions: dict[str, str | float | int | bool] = {} if norm.eps is None else {"eps": norm.eps}
            place = self.flow.maker(norm.value) or one.first_step
            role = norm.kind if understood else "unrecognised"
            words = f"{summary_of(norm)}, {where.replace('_', ' ')} {one.kind}"
            yield Part(path, role, one.layer, words, conventions, status, int(understood), 1, place)

    def _part(self, one: Layered, departures: Sequence[Departure]) -> Part:
        if one.attention is not None:
            return self._attention_part(one, one.attention, departures)
        network = one.network
        activation = network.activation if network is not None else None
        understood = activation is not None
        role = "gated_feed_forward" if network is not None and network.gated else "feed_forward"
        explained = len(one.place.sublayer.entries) + 2 * int(understood) + int(one.place.residual != "none")
        status = self._sublayer_status(one, departures, understood=understood)
        conventions: dict[str, str | float | int | bool] = {} if activation is None else {"activation": activation}
        words = f"{role}, {activation or 'activation not recognised'}"
        total = len(one.place.sublayer.entries) + 3
        return Part(one.path, role, one.layer, words, conventions, status, explained, total, one.first_step)

    def _sublayer_status(self, one: Layered, departures: Sequence[Departure], *, understood: bool) -> Status:
        if any(item.path == one.path and item.layer == one.layer for item in departures):
            return "departs"
        return "holds" if understood else "unrecognised"

    def _attention_part(self, one: Layered, reading: AttentionReading, departures: Sequence[Departure]) -> Part:
        operands = (reading.query, reading.key, reading.value)
        understood = reading.setting is not None and all(operand.understood for operand in operands)
        grouped = reading.group_count != reading.head_count
        role = "grouped_query_attention" if grouped else "multi_head_attention"
        conventions: dict[str, str | float | int | bool] = {"num_heads": reading.head_count}
        words = [role, f"{reading.head_count} heads" + (f" on {reading.group_count}" if grouped else "")]
        if one.kind == "cross_attention":
            words.insert(1, "across")
        if reading.setting is not None:
            words.append(reading.setting.pattern)
            conventions["visible_keys"] = reading.setting.pattern
        if reading.query.rotation is not None:
            words.append(describe_rotation(reading.query.rotation))
            conventions["rotary_pairing"] = reading.query.rotation.pairing
        fused = reading.sublayer.sites[0].weights is None
        steps = [operand.understood for operand in operands]
        steps += [reading.setting is not None] * (1 if fused else 3)
        steps += [reading.merge is not None and reading.merge.rows_kept, one.place.residual != "none"]
        status = self._sublayer_status(one, departures, understood=understood)
        return Part(
            one.path, role, one.layer, ", ".join(words), conventions, status, sum(steps), len(steps), one.first_step
        )

    def _end_parts(self, one: LinearMap, departures: Sequence[Departure]) -> Iterator[Part]:
        read = self.reader.read(one.input)
        if isinstance(read, Norm):
            path = path_of_norm(self.flow, read)
            status = self._status(path, None, {"final_norm"}, departures)
            place = self.flow.maker(read.value) or one.step
            yield Part(path, read.kind, None, summary_of(read), {}, status, int(read.kind != "norm"), 1, place)
        path = common_path(one.names).rpartition(".")[0] or common_path(one.names)
        tables = {name for lookup in self.maps.lookups for name in lookup.names}
        tied = ", tied to the embedding" if set(one.names) & tables else ""
        status = self._status(path, None, {"unembedding"}, departures)
        yield Part(path, "unembedding", None, f"unembedding{tied}", {"tied": bool(tied)}, status, 1, 1, one.step)

    def _coverage(self) -> tuple[int, int]:
        """Return how many steps compute something, and how many of them lie behind a value that was understood."""
        computing = {
            index
            for index, step in enumerate(self.flow.steps)
            if step.kind != Kind.REARRANGEMENT and any(self.flow.depends_on_input(one) for one in step.results)
        }
        understood: set[int] = set()
        for one in self.maps.linear:
            understood.add(one.step)
        understood.update(one.step for one in self.maps.lookups)
        for layered in self.readings:
            if layered.attention is not None and layered.attention.setting is not None:
                understood.update(self._behind(layered.attention.sublayer.exit.input))
            if layered.network is not None and layered.network.activation is not None:
                understood.update(self._behind(layered.network.sublayer.exit.input))
            for _, norm in norms_of(layered.place):
                if norm.kind != "norm":
                    understood.update(self._behind(norm.value))
            if layered.place.result is not None:
                understood.update(self._behind(layered.place.result.value))
        for one in self.ends:
            understood.update(self._behind(one.input))
        return len(computing), len(computing & understood)

    def _behind(self, value: int) -> set[int]:
        if value < 0:
            return set()
        near = self.flow.ancestors(value, stop=lambda one: one in self.maps.by_output)
        made = (self.flow.maker(one) for one in near if one == value or one not in self.maps.by_output)
        return {one for one in made if one is not None}


def _suspicion_of(odd: OddOne, total: int) -> Suspicion:
    sentence = f"{odd.aspect.words}; in {odd.count} of {total} layers it is otherwise: {odd.usual.words}"
    slug = odd.mistake
    suspects = (suspected(slug, 1.0 if total > 2 else 0.5),) if slug else ()
    return Suspicion(odd.aspect.step, odd.aspect.place, sentence, suspects, odd.aspect.path)


def _names(item: Suspicion, slug: str) -> bool:
    return any(suspect.name == slug for suspect in item.suspects)


def _adds_to_the_normed(one: Layered) -> bool:
    slugs = {suspect.name for item in one.suspicions for suspect in item.suspects}
    return "prenorm_residual_after_norm" in slugs


def _explained_by(unused: Departure, found: Sequence[Departure]) -> bool:
    """Return whether parameters are unused because of another departure, of the same layer or of the same step."""
    shared = [common_path((unused.path, one.path)) for one in found]
    return any(
        (layer_in(path) is not None and one.layer == unused.layer) or one.step == unused.step
        for path, one in zip(shared, found, strict=True)
    )


def _each_once(departures: Sequence[Departure]) -> tuple[Departure, ...]:
    """Return departures without those that repeat a step of a part: they follow from the first."""
    kept: dict[tuple[str, int | None, str], Departure] = {}
    for one in departures:
        key = (one.path, one.layer, one.step)
        known = kept.setdefault(key, one)
        if not known.suspects and one.suspects:
            # The same place with a name says more; it keeps its turn.
            kept[key] = replace(one, place=known.place)
    return tuple(kept.values())


def _mentions(expression: Expression, site: Site) -> bool:
    if isinstance(expression, Attended):
        return site in expression.sites
    if isinstance(expression, Output):
        return False
    return any(_mentions(inner, site) for inner in inner_expressions(expression))


# What an unused vector of a part is called.
_DROPPED = {"unembedding": "lm_head_bias_dropped", "feed_forward": "ffn_output_bias_dropped"}


def _pattern(name: str) -> str:
    return ".".join("#" if piece.isdigit() else piece for piece in name.split("."))
