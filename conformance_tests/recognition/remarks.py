"""What stands out in a model and may be meant, such as layers of one object or sublayers without a norm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from veriformer.conformance_tests.recognition.logit_remarks import remarks_on_logits
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.network_remarks import remarks_on_networks
from veriformer.conformance_tests.recognition.norm_remarks import remarks_on_norms
from veriformer.conformance_tests.recognition.stream_parts import norms_of
from veriformer.conformance_tests.recognition.stream_remarks import remarks_on_streams


def remarks_on(model: ModelReading) -> tuple[str, ...]:
    """Return a sentence about each thing that stands out and is no departure."""
    return (
        *(tuple(_layers_of_one_object(model)) or _layers_with_the_same_weights(model)),
        *_sublayers_without_norm(model),
        *remarks_on_norms(model),
        *remarks_on_streams(model),
        *_causal_in_part(model),
        *_factors_of_tables(model),
        *remarks_on_logits(model),
        *remarks_on_networks(model),
    )


def _layers_of_one_object(model: ModelReading) -> Iterator[str]:
    """Yield which layers are the same object: each of their parameters has a path in each of them."""
    stems = {stem for one in model.readings if (stem := _stem_of(one.path))}
    groups: dict[tuple[str, ...], None] = {}
    for value in model.trace.values:
        layers = tuple(dict.fromkeys(map(_stem_of, (value.name, *value.aliases)))) if value.aliases else ()
        if len(layers) > 1 and "" not in layers and stems.intersection(layers):
            groups[layers] = None
    for layers in groups:
        yield f"the layers {_listed(layers)} are one object, so that they have the same weights"


def _layers_with_the_same_weights(model: ModelReading) -> Iterator[str]:
    """Yield which layers of a stack have the same parameters under the same names, as functions of a dictionary do."""
    layers: dict[tuple[int, int], list[tuple[str, ...]]] = {}
    for one in model.readings:
        if one.layer is not None and not one.is_expert:
            layers.setdefault((one.stack, one.layer), []).append(one.path_of_maps)
    groups: dict[tuple[int, tuple[tuple[str, ...], ...]], list[int]] = {}
    for (stack, layer), names in layers.items():
        if all(names):
            groups.setdefault((stack, tuple(names)), []).append(layer)
    shared = [members for members in groups.values() if len(members) > 1]
    if shared:
        yield f"the same weights are those of layers {', and those of layers '.join(map(_numbered, shared))}"


def _numbered(layers: Sequence[int]) -> str:
    return _listed([str(one) for one in layers])


def _stem_of(path: str) -> str:
    """Return the beginning of a path up to the number of a layer; empty where there is none."""
    parts = path.split(".")
    place = next((place for place, part in enumerate(parts) if part.isdigit()), None)
    return "" if place is None else ".".join(parts[: place + 1])


def _sublayers_without_norm(model: ModelReading) -> Iterator[str]:
    """Yield that all attentions of a model have a norm and no network has one, or the other way round."""
    # The norm behind the last one may be that of the whole stack.
    last = {one.stack: one for one in model.readings}
    judged = [one for one in model.readings if one.is_judged and not one.is_expert and one is not last[one.stack]]
    normed = {
        of_attention: [any(norms_of(one.place)) for one in judged if (one.attention is not None) == of_attention]
        for of_attention in (True, False)
    }
    for of_attention, kind, other in (
        (False, "feed-forward networks", "attentions"),
        (True, "attentions", "feed-forward networks"),
    ):
        here, there = normed[of_attention], normed[not of_attention]
        if here and not any(here) and there and all(there):
            yield f"its {kind} have no norm, and its {other} have one each"


def _causal_in_part(model: ModelReading) -> Iterator[str]:
    """Yield that some self-attentions of layers that are called alike see later positions, and others do not."""
    alike: dict[str, dict[bool, list[str]]] = {}
    for one in model.readings:
        setting = None if one.attention is None or one.kind != "self_attention" else one.attention.setting
        if setting is not None and _stem_of(one.path):
            called = re.sub(r"\d+", "#", one.path)
            alike.setdefault(called, {True: [], False: []})[setting.is_causal].append(one.path)
    for ways in alike.values():
        if ways[True] and ways[False]:
            yield f"later positions are seen in {_listed(ways[False])}, and not in {_listed(ways[True])}"


def _listed(paths: Sequence[str]) -> str:
    *others, last = dict.fromkeys(path or "the model itself" for path in paths)
    return f"{', '.join(others)} and {last}" if others else last


def _factors_of_tables(model: ModelReading) -> Iterator[str]:
    """Yield that the tables of some streams are multiplied by a number and those of others are not, or by another."""
    found = [(model.path_of_embedding(one), f"{one.factor:.4g}") for _, one in model.embeddings if one.tokens]
    tables = list(dict.fromkeys(found))
    if len({factor for _, factor in tables}) < len(("one", "other")):
        return
    if len({path for path, _ in tables}) == 1:
        told = " in one place and ".join(_times(factor) for _, factor in tables)
        yield f"the rows of {tables[0][0]} are {told} in another"
        return
    *others, last = (f"of {path} are {_times(factor)}" for path, factor in tables)
    yield f"the rows {', those '.join(others)}, and those {last}"


def _times(factor: str) -> str:
    return "taken as they are" if factor == "1" else f"multiplied by {factor}"
