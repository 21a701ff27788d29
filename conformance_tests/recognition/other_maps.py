"""The maps before a stream that are no sublayer: what a time step, a class or a caption goes through."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.conformance_tests.recognition.conditions import is_conditioned_by
from veriformer.conformance_tests.recognition.expressions import (
    Activated,
    Embedded,
    Expression,
    Fixed,
    Norm,
    Output,
    Scaled,
    Sum,
    Taken,
    Unknown,
    Waves,
)
from veriformer.conformance_tests.recognition.findings import Part, Status
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.paths import common_path, layer_in
from veriformer.conformance_tests.recognition.sublayers import each_inside


def parts_of_other_maps(model: ModelReading) -> Iterator[Part]:
    """Yield each map on the way from what the model was handed to a condition, a memory or a stream, with its input."""
    conditioners = {one.step for one in model.conditioners}
    for one in model.other_maps:
        read = model.reader.read(one.input)
        understood = not any(isinstance(inner, Unknown) for inner in each_inside(read) if not _is_handed(model, inner))
        path = common_path(one.names).rpartition(".")[0] or common_path(one.names)
        what = ", the condition itself" if is_conditioned_by(model.conditioned, one) else ""
        role = "conditioning" if one.step in conditioners else "projection"
        words = f"{role}, linear map of {source_in_words(model, read)}{what}"
        status: Status = "holds" if understood else "unrecognised"
        yield Part(
            path, role if understood else status, layer_in(path), words, {}, status, int(understood), 1, one.step
        )


def _is_handed(model: ModelReading, one: Expression) -> bool:
    return one.value in model.trace.inputs


def source_in_words(model: ModelReading, read: Expression) -> str:
    """Return what a map reads, in words."""
    exits = {one.exit.step for one in model.sublayers.all}
    inside = each_inside(read, lambda one: isinstance(one, Output))
    if not isinstance(read, Output) and any(isinstance(one, Output) and one.map.step in exits for one in inside):
        return "the stream"
    match read:
        case Activated(of=of, name=name):
            return f"{name} of {source_in_words(model, of)}"
        case Scaled(of=of, factor=factor):
            return f"{factor:.4g} times {source_in_words(model, of)}"
        case Sum(terms=terms):
            return " + ".join(source_in_words(model, term) for term in terms)
        case Norm(of=of, kind=kind):
            return f"the {kind} of {source_in_words(model, of)}"
        case Output(map=LinearMap(names=names)):
            return common_path(names).rpartition(".")[0] or common_path(names)
        case Embedded(lookup=lookup):
            return f"rows of {common_path(lookup.names).rpartition('.')[0] or common_path(lookup.names)}"
        case Waves():
            return _waves(read)
        case Fixed():
            return "a table"
        case Taken(of=parts) if parts:
            moving = [part for part in parts if not isinstance(part, Fixed)] or list(parts)
            return f"some of {' and '.join(source_in_words(model, part) for part in moving)}"
    return "what the model was handed" if _is_handed(model, read) else "something unknown"


def _waves(one: Waves) -> str:
    times = "" if one.times == 1.0 else f" times {one.times:g}"
    last = f", the last 1/{one.base:g}" if one.is_last_exact else ""
    return f"{one.layout} of each sample's number{times}, base {one.base:g}{last}"
