"""Departures where a stream begins and where it ends: embedding, final norm, unembedding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.embeddings import (
    Embedding,
    embedding_mistakes,
)
from veriformer.conformance_tests.recognition.expressions import Norm, Output, Sum
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.patches import NO_PATCHES, OTHERWISE_INSIDE, image_words, patch_words
from veriformer.conformance_tests.recognition.paths import common_path, layer_in, without_lists
from veriformer.conformance_tests.recognition.positions_kept import displaced_by, moved_in
from veriformer.conformance_tests.recognition.positions_of_some import mistakes_of_some_positions
from veriformer.conformance_tests.recognition.stream_parts import (
    norm_mistakes,
    norms_of,
    path_of_norm,
)
from veriformer.conformance_tests.recognition.streams import Place, leaves
from veriformer.conformance_tests.recognition.sublayers import AttentionSublayer
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected

# So many layers are a stack.
_STACK = 2


def departures_of_beginnings(model: ModelReading) -> Iterator[Departure]:
    """Yield the departures of embeddings, positions, and the norms after them."""
    for _, embedding in model.embeddings:
        path = model.path_of_embedding(embedding)
        for item in _embedding_mistakes(model, embedding):
            yield departure(model, path, None, "token_embedding", item)
        if embedding.norm is not None:
            for item in norm_mistakes(model.flow, embedding.norm, "embedding"):
                yield departure(model, path, None, "layer_norm", item)


def _embedding_mistakes(model: ModelReading, embedding: Embedding) -> Iterator[Suspicion]:
    again = [item for one in model.readings for item in one.suspicions if _names(item, "pe_added_every_block")]
    width, batch = model.width_of(embedding), model.batch
    of_some = mistakes_of_some_positions(model.flow, embedding, width, batch)
    for item in (*embedding_mistakes(model.flow, embedding, width, batch), *of_some):
        # Positions that are added before each layer are added twice before the first.
        yield replace(item, suspects=again[0].suspects) if again and _names(item, "pe_input_added_twice") else item


def departures_of_ends(model: ModelReading) -> Iterator[Departure]:
    """Yield the departures of final norms and of the outputs."""
    for path, value, place in _ends_of_stacks(model):
        read = model.at_root(model.reader.read(value))
        if isinstance(read, Norm):
            for item in norm_mistakes(model.flow, read, "final_norm"):
                yield departure(model, path_of_norm(model.flow, read), None, read.kind, item)
        elif lacks_norm(model, value) and (_unused_norm(model) or _is_normed_elsewhere(model, value)):
            sentence = "the stream ends without a norm, though every layer normalises what it reads"
            item = Suspicion("final_norm", place, sentence, (suspected("missing_final_norm_prenorm"),))
            yield departure(model, _unused_norm(model) or _around_layers(model, value, path), None, "norm", item)
    for norm in (*_norms_at_the_end(model), *model.other_norms):
        for item in norm_mistakes(model.flow, norm, "final_norm"):
            yield departure(model, path_of_norm(model.flow, norm), None, norm.kind, item)
    yield from _of_output(model)
    yield from _of_image(model)
    yield from _of_positions(model)


def _of_positions(model: ModelReading) -> Iterator[Departure]:
    """Yield that the vectors of the last stream come to its end at other positions than they had at first."""
    stack = max((one.stack for one in model.readings), default=-1)
    layers = [one for one in model.readings if one.stack == stack and not one.is_expert]
    last = model.ends[0].input if model.ends else model.trace.outputs[0] if model.trace.outputs else -1
    if last < 0 or not layers or any(moved_in(model.flow, one.place) is not None for one in layers):
        # A sublayer whose output goes elsewhere than the stream departs by itself.
        return
    read = model.at_root(model.reader.read(last))
    end = read.of.value if isinstance(read, Norm) else read.value
    place = displaced_by(model.flow, [one.place for one in layers], end) if end >= 0 else None
    for one in layers if place is not None else ():
        if one.place is place:
            sentence = "behind the sublayer the vectors of the stream are at other positions than they had at first"
            made = None if place.result is None else model.flow.maker(place.result.value)
            item = Suspicion("residual", made or one.first_step, sentence, ())
            yield departure(model, one.path, one.layer, one.kind, item)


def lacks_norm(model: ModelReading, value: int) -> bool:
    """Return whether a value is the sum of a stream of which every sublayer normalises what it reads, without a norm.

    What is read as an image, as convolutions read the stream of ViTDet, goes without one.
    """
    read = model.at_root(model.reader.read(value))
    return isinstance(read, Sum) and _is_pre_norm(model, read) and not _is_an_image(model, value)


def _is_normed_elsewhere(model: ModelReading, value: int) -> bool:
    """Return whether every known model of a kind has a norm where a stream ends with a value.

    Those that give logits of tokens do, and encoders that a decoder attends to; heads of other kinds go without it. A
    single layer is no stack that would end with one.
    """
    if len({(one.stack, one.layer) for one in model.readings}) < _STACK:
        return False
    beginnings = (leaf for leaf in leaves(model.at_root(model.reader.read(value))) if isinstance(leaf, Output))
    if any(patch_words(model.flow, one.map) for one in beginnings):
        # What looks at images for another model, as CLIP does, hands on the stream as it is.
        return False
    ends = [one for one in model.ends[:1] if one.input == value]
    rows = {model.flow.shape(one.table)[0] for one in model.maps.lookups}
    return not ends or any(model.flow.shape(one.output)[-1] in rows for one in ends)


def _is_an_image(model: ModelReading, value: int) -> bool:
    """Return whether a stream is read as an image, without a norm, as convolutions read that of ViTDet."""
    return len(model.flow.shape(value)) >= len(("samples", "channels", "height", "width"))


def _norms_at_the_end(model: ModelReading) -> Iterator[Norm]:
    """Yield the norms before the later ends, and the one that the model's result comes from, which are of no sublayer.

    A model may return its stream, or be a single norm.
    """
    known = _norms_of_sublayers(model)
    for end in model.ends[1:]:
        read = model.at_root(model.reader.read(end.input))
        if isinstance(read, Norm) and read.value not in known:
            yield read
    last = norm_of_result(model)
    if last is not None:
        yield last


def norm_of_result(model: ModelReading) -> Norm | None:
    """Return the norm that gives the model's result; None where it is one of a sublayer, or no layer's at all.

    Vectors that are only divided by their lengths, as for a cosine, are not normalised by a layer.
    """
    if not model.trace.outputs:
        return None
    read = model.at_root(model.reader.read(model.trace.outputs[0]))
    before_ends = {model.at_root(model.reader.read(one.input)).value for one in model.ends}
    if not isinstance(read, Norm) or read.value in _norms_of_sublayers(model) | before_ends:
        return None
    return read if read.gain is not None or read.kind == "layer_norm" or not model.ends else None


def _norms_of_sublayers(model: ModelReading) -> set[int]:
    return {norm.value for one in model.readings for _, norm in norms_of(one.place)}


def _ends_of_stacks(model: ModelReading) -> Iterator[tuple[str, int, int]]:
    """Yield where a stream is read after its last layer: by the last map, or by attentions across."""
    for one in model.ends[:1]:
        yield common_path(one.names).rpartition(".")[0], one.input, one.step
    for layered in model.readings:
        if layered.kind == "cross_attention" and layered.attention is not None and layered.is_judged:
            sublayer = layered.attention.sublayer
            key = sublayer.reading(sublayer.key[0])
            yield layered.path, key.input, key.step
            return


def _around_layers(model: ModelReading, value: int, path: str) -> str:
    """Return the module that the layers of a stream are in, where the norm after them should run."""
    total = model.at_root(model.reader.read(value))
    values = {term.value for term in total.terms} if isinstance(total, Sum) else set()
    inside = [one.path for one in model.readings if _exit_in(model, one.place, values)]
    if not model.trace.modules or not inside:
        return path
    return without_lists(model.flow, common_path(inside))


def _is_pre_norm(model: ModelReading, total: Sum) -> bool:
    """Return whether every sublayer whose output is in a sum normalises what it reads, and that alone.

    An attention is among them: a network behind a pooling that was not recognised is no stream of its own.
    """
    values = {term.value for term in total.terms}
    inside = [place for place in model.streams.places if _exit_in(model, place, values)]
    attends = any(isinstance(place.sublayer, AttentionSublayer) for place in inside)
    return attends and all(place.before is not None and place.after is None for place in inside)


def _exit_in(model: ModelReading, place: Place, values: set[int]) -> bool:
    one = place.sublayer.exit
    return one.output in values or one.product in values


def _of_output(model: ModelReading) -> Iterator[Departure]:
    """Yield that what the last map gives is normalised along another axis than its last."""
    if not model.ends or not model.trace.outputs:
        return
    logits, output = model.flow.array(model.ends[-1].output), model.flow.array(model.trace.outputs[0])
    if logits.size != output.size or output.ndim < 2 or np.array_equal(logits.ravel(), output.ravel()):
        return
    shaped = logits.reshape(output.shape)
    for axis in range(output.ndim - 1):
        weights = np.exp(shaped - shaped.max(axis=axis, keepdims=True))
        weights /= weights.sum(axis=axis, keepdims=True)
        if agree(output, weights) or agree(output, np.log(weights)):
            sentence = f"the outputs are normalised over axis {axis}, and not over the vocabulary"
            place = model.flow.maker(model.trace.outputs[0]) or len(model.flow.steps) - 1
            item = Suspicion("unembedding", place, sentence, (suspected("softmax_wrong_axis"),))
            yield departure(model, common_path(model.ends[-1].names).rpartition(".")[0], None, "unembedding", item)


def _of_image(model: ModelReading) -> Iterator[Departure]:
    """Yield that the vectors of the last map are not laid out as the patches of the image that the model returns."""
    if not model.ends or not model.trace.outputs:
        return
    one, image = model.ends[-1], model.trace.outputs[0]
    words = image_words(model.flow, one, image)
    sentence = ""
    if words == NO_PATCHES:
        sentence = "each vector goes to pieces of the image that are no patch of it: axes are not exchanged"
    elif words and (cut := _cut_into(model, image)) and words.partition(OTHERWISE_INSIDE)[0] != f"laid out as {cut}":
        sentence = f"an image is cut into {cut}, and the result is {words}"
    if sentence:
        place = model.flow.maker(image) or one.step
        item = Suspicion("unembedding", place, sentence, ())
        yield departure(model, common_path(one.names).rpartition(".")[0], None, "unembedding", item)


def _cut_into(model: ModelReading, image: int) -> str:
    """Return the patches that an input of the shape of an image is cut into; "" where none is, or that is not known."""
    shape = model.flow.shape(image)
    if not any(model.flow.shape(one) == shape for one in model.trace.inputs):
        return ""
    ends = (leaf for _, one in model.embeddings for term in one.terms for leaf in leaves(term))
    maps = (leaf.map for leaf in ends if isinstance(leaf, Output))
    return next((words for one in maps if (words := patch_words(model.flow, one)) not in ("", NO_PATCHES)), "")


def _unused_norm(model: ModelReading) -> str:
    """Return the module of the vectors of the stream's width that nothing uses, in no layer."""
    names = [name for name in model.unused() if model.is_vector(name) and layer_in(name.rpartition(".")[0]) is None]
    names = [name for name in names if not model.acts_on_a_part(name)]
    return names[0].rpartition(".")[0] if names else ""


def _names(item: Suspicion, slug: str) -> bool:
    return any(suspect.name == slug for suspect in item.suspects)
