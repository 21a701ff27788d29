"""What is compared of how a part stands in the stream: its norms, its residual, and the values between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.eps import estimated_eps
from veriformer.conformance_tests.ports.items import Choice, Cut, Item, Weight
from veriformer.conformance_tests.recognition.aspects import Aspect
from veriformer.conformance_tests.recognition.expressions import Norm
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.stream_parts import norm_aspects, path_of_norm, place_aspects

# What weights show better: a gain of ones is none.
_OF_WEIGHTS = ("gain", "shift", "one")


def choices(aspects: Iterable[Aspect], path: str) -> Iterator[Choice]:
    """Yield aspects as choices of the part at `path`."""
    for one in aspects:
        yield Choice(one.name, one.step, one.place, one.path or path, one.value, one.words, one.mistake)


def cut(flow: Flow, key: str, step: StepName, value: int, path: str) -> Cut:
    """Return a value of the pass as a cut."""
    made = flow.maker(value)
    return Cut(key, step, made if made is not None else 0, path, flow.array(value), flow.unit(value))


def as_stored(flow: Flow, names: tuple[str, ...]) -> Array | None:
    """Return the one parameter that a vector is made of, before anything was done to it; None where it is not one."""
    return flow.array(flow.trace.parameters[names[0]]).ravel() if len(names) == 1 else None


def norm_items(flow: Flow, norm: Norm, name: str, step: StepName) -> Iterator[Item]:
    """Yield what is compared of a norm; `name` tells it from the other norms of its part."""
    path, at = path_of_norm(flow, norm), flow.maker(norm.value) or 0
    if norm.eps is None and norm.kind != "norm":
        norm = replace(norm, eps=estimated_eps(flow, norm))
    aspects = (one for one in norm_aspects(flow, norm, name, step) if one.name.rpartition(": ")[2] not in _OF_WEIGHTS)
    yield from choices(aspects, path)
    for role, vector, neutral in (("gain", norm.gain, 1.0), ("shift", norm.shift, 0.0)):
        array = None if vector is None else flow.array(vector).ravel()
        names = () if vector is None else flow.parameters_of(vector)
        yield Weight(f"{name}: {role}", step, at, path, array, names, neutral)
    yield cut(flow, f"{name} values", step, norm.value, path)


def standing(model: ModelReading, one: Layered) -> dict[str, Choice]:
    """Return how a sublayer stands in the stream, by the names of the aspects; those of its norms are left out."""
    aspects = (aspect for aspect in place_aspects(model.flow, one.place, one.kind) if ": " not in aspect.name)
    found = {choice.key: choice for choice in choices(aspects, one.path)}
    post_norm = any(place.after is not None for place in model.streams.places)
    if model.is_last(one) and one.place.after is None and not post_norm:
        # After the last sublayer the final norm stands where the norm after would be.
        found.pop("norm after", None)
    return found


def before(model: ModelReading, one: Layered, found: dict[str, Choice]) -> Iterator[Item]:
    """Yield what is compared before a sublayer: the norm of what it reads."""
    yield from (found[name] for name in ("norm before",) if name in found)
    norm = one.place.before
    if norm is not None:
        yield from norm_items(model.flow, norm, "norm before", "norm")


def with_late_bias(model: ModelReading, one: Layered, weight: Weight) -> Weight:
    """Return the bias of a sublayer's output; one that is added to the sum with the stream stands there."""
    flow, result = model.flow, one.place.result
    step = None if result is None or result.value < 0 else flow.making(result.value)
    if weight.array is not None or step is None or step.kind != Kind.ADDITION:
        return weight
    width = flow.shape(step.results[0])[-1]
    for value in step.operands:
        if flow.array(value).size == width and flow.is_fixed(value) and flow.depends_on_parameters(value):
            names = flow.parameters_of(value)
            return replace(weight, array=flow.array(value).ravel(), names=names, stored=as_stored(flow, names))
    return weight


def attention_first(readings: Sequence[Layered]) -> list[Layered]:
    """Return sublayers in order, of those that are added to a stream in one sum the attention first.

    Which of them a program computes first changes nothing.
    """
    found = list(readings)
    for place, (one, other) in enumerate(pairwise(readings)):
        if one.network is not None and other.attention is not None and _share_a_sum(one, other):
            found[place], found[place + 1] = other, one
    return found


def _share_a_sum(one: Layered, other: Layered) -> bool:
    sums = one.place.result, other.place.result
    return sums[0] is not None and sums[1] is not None and sums[0].value == sums[1].value


def _is_shared(model: ModelReading, one: Layered) -> bool:
    """Return whether the sum of a sublayer is that of a later one beside it, which is told there."""
    ordered = attention_first(model.readings)
    return any(_share_a_sum(one, other) for other in ordered[ordered.index(one) + 1 :])


def behind(model: ModelReading, one: Layered, found: dict[str, Choice]) -> Iterator[Item]:
    """Yield what is compared behind a sublayer: the norm of its output, factor and sum, the norm after it."""
    place = one.place
    yield from (found[name] for name in ("norm on_output",) if name in found)
    if place.on_output is not None:
        yield from norm_items(model.flow, place.on_output, "norm on_output", "norm")
    yield from (found[name] for name in ("factor", "residual") if name in found)
    if place.result is not None and place.result.value >= 0 and not _is_shared(model, one):
        yield cut(model.flow, "result", "residual", place.result.value, one.path)
    yield from (found[name] for name in ("norm after",) if name in found)
    if place.after is not None:
        yield from norm_items(model.flow, place.after, "norm after", "norm")
