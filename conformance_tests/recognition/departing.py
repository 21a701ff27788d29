"""One departure as it is reported: a suspicion with the module and the line of code that it is about."""

from __future__ import annotations

from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.paths import code_of
from veriformer.conformance_tests.recognition.suspicion import Suspicion


def departure(model: ModelReading, path: str, layer: int | None, operation: str, item: Suspicion) -> Departure:
    """Return a suspicion as a departure of the module at `path`."""
    file, line = code_of(model.flow, item.place)
    return Departure(
        item.path or path, layer, item.step, operation, file, line, item.sentence, item.suspects, item.place
    )
