"""Whether a model is one of which no result may depend on later positions."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.consistency import is_triangle
from veriformer.conformance_tests.recognition.model_reading import ModelReading


def is_causal(model: ModelReading) -> bool:
    """Return whether every self-attention of the stream that ends the model is causal by itself, and there is one.

    Of an encoder and a decoder it is the decoder's. A triangle that the caller hands over is the caller's business:
    what the model does with another mask says nothing of it.
    """
    if _was_handed_a_triangle(model) or _reads_whole_in_encoder(model):
        return False
    readings = [one for one in model.readings if one.attention is not None]
    decoders = {one.stack for one in readings if one.kind == "cross_attention"}
    own = [one for one in readings if one.kind == "self_attention" and (not decoders or one.stack in decoders)]
    settings = [one.attention.setting for one in own if one.attention is not None]
    return bool(settings) and all(setting is not None and setting.is_causal for setting in settings)


def _reads_whole_in_encoder(model: ModelReading) -> bool:
    """Return whether a decoder attends to a memory of the very input that it begins with, all positions of it.

    An encoder-decoder that is given a source alone makes the decoder's tokens of it.
    """
    decoders = {one.stack for one in model.readings if one.kind == "cross_attention"}
    inputs = set(model.trace.inputs)
    own = {
        one
        for stack, beginning in model.embeddings
        if stack in decoders
        for term in beginning.terms
        if term.value >= 0
        for one in inputs.intersection(model.flow.ancestors(term.value))
    }
    memories = (inputs.intersection(model.flow.ancestors(value)) for value in model.ends_of_memories)
    return any(own & memory for memory in memories)


def _was_handed_a_triangle(model: ModelReading) -> bool:
    """Return whether one of the inputs shows each position its own and the earlier ones."""
    arrays = [model.flow.array(one) for one in model.trace.inputs]
    return any(is_triangle(table, model.length()) for array in arrays for table in _tables(array))


def _tables(array: Array) -> Array:
    """Return the first table of positions by positions in an array; none where it has too few axes."""
    return array.reshape(-1, *array.shape[-2:])[:1] if array.ndim > 1 and array.size else array[:0]
