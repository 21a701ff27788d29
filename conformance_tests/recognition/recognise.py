"""From the record of a forward pass to the model's parts and departures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.recognition.binding import bound_parts
from veriformer.conformance_tests.recognition.causality import is_causal
from veriformer.conformance_tests.recognition.coverage import modules_of, understood_steps
from veriformer.conformance_tests.recognition.departures import Found, found_in, seen_again
from veriformer.conformance_tests.recognition.final_logits import agreements_of_final_logits
from veriformer.conformance_tests.recognition.findings import Part, Recognition
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.not_a_number import not_judged_behind, source_of_nan
from veriformer.conformance_tests.recognition.padding_tokens import padding_token
from veriformer.conformance_tests.recognition.parts import parts_of
from veriformer.conformance_tests.recognition.remarks import remarks_on
from veriformer.conformance_tests.recognition.stated_frequencies import agreements_of_frequencies
from veriformer.conformance_tests.recognition.stated_layers import agreeing_layer_kinds
from veriformer.conformance_tests.recognition.unused_modules import by_module
from veriformer.conformance_tests.recognition.witness import agreements


def recognise(trace: Trace, *, layers_alike: bool = False) -> Recognition:
    """Return the parts of the model whose forward pass was recorded, and where it departs from what it is.

    With `layers_alike`, a layer that does something otherwise than the others departs too.
    """
    with np.errstate(all="ignore"):
        return _recognition_of(ModelReading(trace), layers_alike)


def recognised_twice(trace: Trace, again: Trace, *, layers_alike: bool = False) -> Recognition:
    """Return what a model was read as, with such departures and differences alone as another pass of it shows too."""
    with np.errstate(all="ignore"):
        return _recognition_of(ModelReading(trace), layers_alike, found_in(ModelReading(again)))


def _recognition_of(model: ModelReading, layers_alike: bool, other: Found | None = None) -> Recognition:
    SO_FAR.doing("finding out what its parts are")
    found = found_in(model)
    for one in found.departures:
        SO_FAR.found(f"it may depart in {one.path or 'the model itself'}: {one.sentence}")
    SO_FAR.doing("finding out what its parts are")
    if other is not None:
        found = seen_again(found, other)
    if layers_alike:
        found = found.with_layers_alike()
    departures = found.departures
    source = source_of_nan(model, departures)
    every = sorted(parts_of(model, departures), key=lambda part: part.place)
    parts = tuple(not_judged_behind(model, every, source))
    SO_FAR.found(f"{counted(len(parts), 'part')} recognised{': ' if parts else ''}{_kinds(parts)}")
    SO_FAR.doing("looking at its other steps")
    computing, understood = understood_steps(model, departures)
    return Recognition(
        parts,
        departures,
        len(computing),
        len(understood),
        (*model.unused(), *model.unused_conditions(), *model.unused_inputs()),
        model.trace.framework,
        model.trace.dtype,
        model.trace.opaque,
        is_causal(model),
        bound_parts(model),
        found.differences,
        modules_of(model, computing - understood),
        (
            *agreements(model),
            *agreeing_layer_kinds(model),
            *agreements_of_final_logits(model),
            *agreements_of_frequencies(model),
        ),
        padding_token(model),
        (*_of_nan(source), *remarks_on(model)),
        (*by_module(model.unused(), model.trace.parameters), *model.unused_conditions(), *model.unused_inputs()),
        model.biases_of_keys(),
        source is not None,
    )


def _of_nan(source: str | None) -> tuple[str, ...]:
    return () if source is None else (f"from {source or 'the model itself'} on, numbers are NaN: no more is judged",)


def _kinds(parts: Iterable[Part]) -> str:
    """Return what the parts are, and how many of each: "2 self attention, 2 feed forward"."""
    roles = Counter(part.role.replace("_", " ") for part in parts)
    return ", ".join(f"{number} {role}" for role, number in roles.items())
