"""An attention without an output projection, read as one that has it."""

from __future__ import annotations

from dataclasses import replace

from veriformer.adapters.capture.projected import projected
from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

NOTE = "It was read with an output projection behind it, since it has none"
_SEED = 0


def completed(trace: Trace, *, layers_alike: bool = False) -> tuple[Trace, Recognition]:
    """Return the record that makes an attention of one without an output projection, any other one as it is, as read.

    That is tried only where nothing of a Transformer is found without it.
    """
    plain = recognise(trace, layers_alike=layers_alike)
    for continued in () if plain.has_transformer_part else projected(trace, _SEED):
        found = recognise(continued, layers_alike=layers_alike)
        if any("attention" in part.role for part in found.parts):
            # The laws of a part call the model with other weights, and it has no projection to put them in.
            return continued, replace(found, bound=())
    return trace, plain
