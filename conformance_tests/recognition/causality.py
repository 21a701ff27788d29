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
    if _was_handed_a_triangle(model):
        return False
    readings = [one for one in model.readings if one.attention is not None]
    decoders = {one.stack for one in readings if one.kind == "cross_attention"}
    own = [one for one in readings if one.kind == "self_attention" and (not decoders or one.stack in decoders)]
    settings = [one.attention.setting for one in own if one.attention is not None]
    return bool(settings) and all(setting is not None and setting.is_causal for setting in settings)


def _was_handed_a_triangle(model: ModelReading) -> bool:
    """Return whether one of the inputs shows each position its own and the earlier ones."""
    arrays = [model.flow.array(one) for one in model.trace.inputs]
    return any(is_triangle(table, model.length()) for array in arrays for table in _tables(array))


def _tables(array: Array) -> Array:
    """Return the first table of positions by positions in an array; none where it has too few axes."""
    return array.reshape(-1, *array.shape[-2:])[:1] if array.ndim > 1 and array.size else array[:0]
