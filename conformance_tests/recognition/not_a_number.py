"""Where a model gives NaN for numbers: what comes behind it shows nothing of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.recognition.findings import Departure, Part
from veriformer.conformance_tests.recognition.model_reading import ModelReading


def takes_nan(model: ModelReading, place: int) -> bool:
    """Return whether the step at a place in the order of execution is given NaN."""
    steps = model.flow.steps
    return 0 <= place < len(steps) and any(_has_nan(model, one) for one in steps[place].operands)


def before_nan(model: ModelReading, departures: Sequence[Departure]) -> list[Departure]:
    """Return the departures that are given numbers, where there are any: the others may come of what they do."""
    return [one for one in departures if not takes_nan(model, one.place)] or list(departures)


def source_of_nan(model: ModelReading, departures: Sequence[Departure]) -> str | None:
    """Return the module in which numbers first become NaN, behind a departure that is given numbers; None for none.

    A right model may give NaN where nothing is asked of it, as for a row of padding alone.
    """
    if not any(_has_nan(model, one) for one in model.trace.outputs):
        return None
    early = [one.place for one in departures if not takes_nan(model, one.place)]
    made = (index for index, step in enumerate(model.flow.steps) if any(_has_nan(model, one) for one in step.results))
    first = next(made, None)
    return model.flow.steps[first].module if first is not None and early and min(early) <= first else None


def not_judged_behind(model: ModelReading, parts: Sequence[Part], source: str | None) -> Iterator[Part]:
    """Yield the parts, those that are given NaN as not judged where a departure is its source."""
    for part in parts:
        if source is not None and part.status == "holds" and takes_nan(model, part.place):
            yield replace(part, status="unrecognised", summary=f"{part.summary}, not judged: it is given NaN")
        else:
            yield part


def _has_nan(model: ModelReading, value: int) -> bool:
    array = model.flow.array(value)
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())
