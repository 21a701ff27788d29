"""From the record of a forward pass to the model's parts and departures."""

from __future__ import annotations

from collections.abc import Sequence

from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.recognition.binding import bound_parts
from veriformer.conformance_tests.recognition.causality import is_causal
from veriformer.conformance_tests.recognition.coverage import coverage
from veriformer.conformance_tests.recognition.departures import departures_of
from veriformer.conformance_tests.recognition.evidence import seen_again
from veriformer.conformance_tests.recognition.findings import Departure, Recognition
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.parts import parts_of


def recognise(trace: Trace) -> Recognition:
    """Return the parts of the model whose forward pass was recorded, and where it departs from what it is."""
    return recognition_of(ModelReading(trace))


def recognised_twice(trace: Trace, again: Trace) -> Recognition:
    """Return what a model was read as, with such departures alone as another pass of it shows too."""
    return recognition_of(ModelReading(trace), departures_of(ModelReading(again)))


def recognition_of(model: ModelReading, others: Sequence[Departure] | None = None) -> Recognition:
    """Return what a model was read as; where there are `others`, a departure must be among those in kind."""
    departures = departures_of(model)
    if others is not None:
        departures = seen_again(departures, others)
    parts = tuple(sorted(parts_of(model, departures), key=lambda part: part.place))
    captured, understood = coverage(model, departures)
    return Recognition(
        parts,
        departures,
        captured,
        understood,
        model.unused(),
        model.trace.framework,
        model.trace.dtype,
        model.trace.opaque,
        is_causal(model),
        bound_parts(model),
    )
