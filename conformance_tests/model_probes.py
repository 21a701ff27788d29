"""Questions to whole Transformers that tell the values of a convention apart."""

from __future__ import annotations

from typing import Any

from veriformer.conformance_tests.cases.models import ModelCase
from veriformer.conformance_tests.inputs import draw_inputs
from veriformer.conformance_tests.selection import WHOLE_MODELS

# The architectures to which a convention matters. Each has one of the four that its own probes do not settle first:
# a single token stands at position 0, where no rotation turns it, so that the gain is found whatever the pairing.
_ARCHITECTURES = {
    "gelu_form": ("bert", "bart", "gpt"),
    "layer_norm_eps": ("bert", "vaswani", "bart", "gpt"),
    "sinusoidal_layout": ("vaswani",),
    "rms_norm_gain": ("llama",),
    "rotary_pairing": ("llama",),
}
_LENGTHS = {"rms_norm_gain": 1}
# Large enough for rounding not to hide where it is added.
_EPS = {"layer_norm_eps": 0.5}


def model_questions(operation: str, convention: str, architectures: tuple[str, ...], dtype: str) -> list[Any] | None:
    """Return the inputs to ask with, none where no architecture is asked; None for another kind of operation."""
    if operation not in WHOLE_MODELS:
        return None
    asked = [name for name in architectures if name in _ARCHITECTURES[convention]][:1]
    source = 4 if operation == "encoder_decoder" else 0
    # Heads of four components have two pairs, and no two pairings agree on them.
    length = _LENGTHS.get(convention, 5)
    settings: dict[str, Any] = {"eps": _EPS.get(convention, 1e-3), "dtype": dtype, "palette": "normal", "seed": 7}
    cases = [ModelCase(name, 2, length, 8, 2, 2, 7, 1, 9, source, **settings) for name in asked]
    return [draw_inputs(operation, case) for case in cases]
