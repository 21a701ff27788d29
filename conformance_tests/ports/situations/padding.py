"""Padded sequences: both models are given the mask that says which tokens are real, each in its own way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.adapters.errors import LoadError
from veriformer.adapters.whole_models.again import Run
from veriformer.conformance_tests.ports.findings import Situation
from veriformer.conformance_tests.ports.situations.both import Both, Outcome, judged

_LENGTH, _PADDED = 6, 2
_SIDES = ("right", "left")


def with_padding(both: Both) -> Iterator[Outcome]:
    """Yield what the models do with padding on either side; the results of real tokens are compared."""
    takes = [one.padding for one in both.offers]
    if not any(takes) or both.longest < _LENGTH:
        return
    if not all(takes):
        has, lacks = ("A", "B") if takes[0] else ("B", "A")
        sentence = f"{has} takes a mask of padding, and no argument of {lacks} was found to do so"
        yield Outcome(Situation("with padding", "unknown", sentence))
        return
    for side in _SIDES:
        yield _on_side(both, side)


def _on_side(both: Both, side: str) -> Outcome:
    name = f"with padding on the {side}"
    inputs = both.drawn(2, _LENGTH)
    real = np.ones((2, _LENGTH), dtype=bool)
    # The second sample has no padding.
    real[0, slice(_LENGTH - _PADDED, None) if side == "right" else slice(_PADDED)] = False
    run = Run(inputs, real)
    try:
        apart = both.apart(run, real=real)
    except LoadError as error:
        return Outcome(Situation(name, "unknown", str(error)))
    return judged(both, name, run, apart, both.bound)
