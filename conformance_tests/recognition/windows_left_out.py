"""A sliding window that a configuration states and no layer has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.stated_layers import WINDOWED
from veriformer.conformance_tests.recognition.suspicion import Suspicion
from veriformer.conformance_tests.recognition.witness import stated_under

# A bare "window" may be one of an image or of a sound, and so may be that of "local" blocks.
_WINDOW = re.compile(r"^(sliding|attention|attn|swa)_window(_size|_length|_len)?$")
# What says which layers have a window, or whether any has one.
_CHOOSING = re.compile(r"sliding|window|swa|local|global|layer_types|layer_kinds|pattern|attention_types|attn_types")
_OF_ROTATIONS = re.compile(r"rope|rotary|theta|freq|base")
_FIRST_WITH_WINDOW = "max_window_layers"


def departures_of_windows_left_out(model: ModelReading) -> Iterator[Departure]:
    """Yield causal attentions without a window, where a configuration states one that is shorter than the sequence.

    A switch, or a list of layers, in the configuration may say that none has it.
    """
    attentions = [one for one in model.readings if one.kind == "self_attention"]
    stated = {name: value for name, value in stated_under(model, _WINDOW).items() if type(value) is int and value > 0}
    if not stated or not attentions or not all(map(_sees_every_earlier_key, attentions)):
        return
    # Some count the query's own key and some do not.
    if max(stated.values()) + 1 >= model.length() or _says_that_none_has_it(model, stated, len(attentions)):
        return
    name, value = next(iter(stated.items()))
    sentence = f"the configuration says that {name} is {value}, and each query sees every earlier key"
    for one in attentions:
        place = one.attention.sublayer.sites[0].steps[0] if one.attention is not None else one.first_step
        yield departure(model, one.path, one.layer, one.kind, Suspicion("mask", place, sentence, ()))


def _sees_every_earlier_key(one: Layered) -> bool:
    setting = one.attention.setting if one.attention is not None else None
    if setting is None or not one.is_judged:
        return False
    return setting.is_causal and setting.window is None and setting.mask is None


def _says_that_none_has_it(model: ModelReading, stated: Mapping[str, object], layers: int) -> bool:
    others = {name: value for name, value in model.trace.configuration.items() if name not in stated}
    named = {name.rpartition(".")[2]: value for name, value in others.items()}
    chosen = {name: value for name, value in named.items() if _CHOOSING.search(name) and not _OF_ROTATIONS.search(name)}
    return any(not _leaves_a_window(name, value, layers) for name, value in chosen.items())


def _leaves_a_window(name: str, value: object, layers: int) -> bool:
    """Return whether some layer has a window by a switch or list that is known; of others it is not known."""
    if name == _FIRST_WITH_WINDOW:
        return isinstance(value, int) and value < layers
    return value is True or (isinstance(value, str) and bool(WINDOWED & set(value.casefold().split(", "))))
