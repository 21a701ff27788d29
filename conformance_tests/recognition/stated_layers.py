"""Which layers have a window, held against the kinds of layers that a configuration lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.suspicion import Suspicion
from veriformer.conformance_tests.recognition.witness import stated_under

_NAMES = re.compile(r"^(layer_types|layer_kinds|layer_pattern|attention_types|attn_types|attention_pattern)$")
WINDOWED = frozenset({"sliding", "sliding_attention", "sliding_window", "local", "local_attention", "window", "swa"})
_FULL = frozenset({"full", "full_attention", "global", "global_attention", "dense", "causal"})


def departures_of_layer_kinds(model: ModelReading) -> Iterator[Departure]:
    """Yield attentions with a window, or without one, where a configuration lists their layer as of the other kind.

    Where no layer shows a window, it may be as long as the sequence.
    """
    for name, kinds in _listed(model).items():
        for layers in _stacks(model):
            windowed = {number: _has_window(one) for number, one in layers.items()}
            if windowed.keys() != set(range(len(kinds))) or not any(windowed.values()):
                continue
            for number, one in layers.items():
                if windowed[number] != (kinds[number] in WINDOWED):
                    yield departure(model, one.path, one.layer, one.kind, _suspicion(name, kinds[number], one))


def agreeing_layer_kinds(model: ModelReading) -> tuple[str, ...]:
    """Return the names under which the kinds of the layers are listed as they are."""
    found = [[_has_window(one) for _, one in sorted(layers.items())] for layers in _stacks(model)]
    listed = {name: [kind in WINDOWED for kind in kinds] for name, kinds in _listed(model).items()}
    return tuple(name for name, kinds in listed.items() if kinds in found and any(kinds))


def _listed(model: ModelReading) -> dict[str, list[str]]:
    """Return the lists of kinds of layers that are all known, and of both sorts, by where they stand."""
    stated = {name: str(value).casefold().split(", ") for name, value in stated_under(model, _NAMES).items()}
    return {name: kinds for name, kinds in stated.items() if WINDOWED & set(kinds) and set(kinds) <= WINDOWED | _FULL}


def _stacks(model: ModelReading) -> list[Mapping[int, Layered]]:
    """Return the self-attentions of each stack by their number in it, of stacks in which all were read."""
    stacks: dict[int, list[Layered]] = {}
    for one in model.readings:
        if one.kind == "self_attention":
            stacks.setdefault(one.stack, []).append(one)
    return [dict(enumerate(layers)) for layers in stacks.values() if all(map(_is_read, layers))]


def _is_read(one: Layered) -> bool:
    return one.is_judged and one.attention is not None and one.attention.setting is not None


def _has_window(one: Layered) -> bool:
    setting = one.attention.setting if one.attention is not None else None
    return setting is not None and setting.window is not None


def _suspicion(name: str, kind: str, one: Layered) -> Suspicion:
    setting = one.attention.setting if one.attention is not None else None
    window = setting.window[0] if setting is not None and setting.window is not None else None
    seen = "every earlier key" if window is None else f"{window + 1} keys"
    # Without the layer's number, so that layers of one kind are one departure.
    sentence = f"the configuration says in {name} that the layer is {kind!r}, and a query sees {seen}"
    place = one.attention.sublayer.sites[0].steps[0] if one.attention is not None else one.first_step
    return Suspicion("mask", place, sentence, ())
