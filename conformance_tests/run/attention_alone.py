"""An attention without an output projection, read as one that has it."""

from __future__ import annotations

from dataclasses import replace

from veriformer.adapters.capture.projected import projected
from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

_NOTE = "It was read with an output projection behind it, since it has none"


def recognised(trace: Trace, seed: int) -> tuple[Recognition, tuple[str, ...]]:
    """Return what a record was read as, with a sentence where an output projection had to be put behind it.

    That is tried only where nothing of a Transformer is found without, and counts only where it makes an attention.
    """
    plain = recognise(trace)
    if plain.has_transformer_part:
        return plain, ()
    for continued in projected(trace, seed):
        found = recognise(continued)
        if any("attention" in part.role for part in found.parts):
            # The laws of a part call the model with other weights, and it has no such matrix.
            return replace(found, bound=()), (_NOTE,)
    return plain, ()
