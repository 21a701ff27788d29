"""Whether a model is one of which no result may depend on later positions."""

from __future__ import annotations

from veriformer.conformance_tests.recognition.model_reading import ModelReading


def is_causal(model: ModelReading) -> bool:
    """Return whether every self-attention of the stream that ends the model is causal, and there is one.

    Of an encoder and a decoder it is the decoder's.
    """
    readings = [one for one in model.readings if one.attention is not None]
    decoders = {one.stack for one in readings if one.kind == "cross_attention"}
    own = [one for one in readings if one.kind == "self_attention" and (not decoders or one.stack in decoders)]
    settings = [one.attention.setting for one in own if one.attention is not None]
    return bool(settings) and all(setting is not None and setting.is_causal for setting in settings)
