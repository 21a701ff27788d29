"""What a departure needs before it is said, the same for every part: evidence of its own, and none that was guessed.

Everything that the part is computed from was recognised; nothing that the tool left out is held against the model; the
same is seen on other numbers; and where another known architecture reads the same numbers, that is said too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from veriformer.conformance_tests.recognition.coverage import understood_steps
from veriformer.conformance_tests.recognition.findings import Departure, Suspected
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.suspicion import LIKELY, Suspicion

# Below this share of the steps that were recorded, a model was not recognised, whatever was found in it.
ENOUGH = 0.75

# What known architectures do by design, by the mistake that it would be elsewhere.
ALTERNATIVES: Mapping[str, str] = {
    "rmsnorm_sum_of_squares": "ScaleNorm and nGPT divide by the length by design",
    "rope_positions_from_one": "PaliGemma counts from 1, which has no effect where queries and keys count alike",
    "out_proj_missing": "some attentions leave it to the module around them, as the one of BERT in transformers does",
}
# A step that is seen in the record, whatever else is.
_BY_ITSELF = ("dropout_active_in_eval",)
# Whether later positions, or padding, are hidden is up to whoever hands over the mask.
_BY_THE_MASK = ("decoder_not_causal", "padding_mask_ignored")


def backed(one: Layered, suspicions: Sequence[Suspicion]) -> list[Suspicion]:
    """Return the suspicions of a sublayer without those that rest on its ends, where its inside was not recognised.

    Which map leaves a sublayer, and so what it is added to, is only known of one that was read.
    """
    inside = [item for item in suspicions if item.step not in ("residual", "norm", "positions")]
    if was_read(one) or any(item.suspects for item in inside):
        return list(suspicions)
    return [item for item in suspicions if item.step != "residual"]


def was_read(one: Layered) -> bool:
    """Return whether the inside of a sublayer was recognised."""
    if one.attention is not None:
        return one.attention.setting is not None
    return one.network is None or one.network.activation is not None


def with_evidence(model: ModelReading, departures: Sequence[Departure]) -> tuple[Departure, ...]:
    """Return the departures that nothing speaks against.

    Where too little of the model was recognised, those alone behind which enough was.
    """
    computing, understood = understood_steps(model, departures)
    if len(understood) < ENOUGH * len(computing):
        departures = [one for one in departures if _rests_on_known(model, one, computing, understood)]
    left_out = [name for name in model.trace.left_out if "mask" in name.lower()]
    return tuple(_with_alternatives(one) for one in departures if not (left_out and _rests_on_a_mask(one)))


def _rests_on_known(model: ModelReading, one: Departure, computing: set[int], understood: set[int]) -> bool:
    """Return whether what a departing step is computed from was recognised; what draws numbers needs nothing else."""
    if any(suspect.name in _BY_ITSELF for suspect in one.suspects):
        return True
    if not one.suspects or not 0 <= one.place < len(model.flow.steps):
        return False
    behind = {index for value in model.flow.steps[one.place].operands for index in model.makers_behind(value)}
    return len(behind & understood) >= ENOUGH * len(behind & computing)


def _rests_on_a_mask(one: Departure) -> bool:
    return any(suspect.name in _BY_THE_MASK for suspect in one.suspects)


def _with_alternatives(one: Departure) -> Departure:
    """Return a departure whose suspects are likely and no more, where an architecture is known that does the same."""
    if not any(suspect.name in ALTERNATIVES for suspect in one.suspects):
        return one
    return replace(one, suspects=tuple(_less_certain(suspect) for suspect in one.suspects))


def _less_certain(one: Suspected) -> Suspected:
    known = ALTERNATIVES.get(one.name)
    if known is None:
        return one
    return replace(one, confidence=min(one.confidence, LIKELY), sentence=f"{one.sentence.rstrip('.')}; {known}.")
