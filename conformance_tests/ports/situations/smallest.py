"""The smallest input that shows a difference: one sample, few positions, small tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.adapters.errors import LoadError
from veriformer.adapters.whole_models.again import Run
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.situations.both import Both

_MOST_SAMPLES, _MOST_SIMPLER = 4, 32
_LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)


def smallest_input(both: Both, inputs: Array | None) -> str:
    """Return in words the smallest input that was found to show a difference; empty where none does."""
    found = next((one for one in _single(both, inputs) if _differs(both, one)), None)
    if found is None:
        return ""
    shorter = (found[:, :length] for length in _LENGTHS if both.shortest <= length < found.shape[1])
    found = next((one for one in shorter if _differs(both, one)), found)
    return in_words(_simpler(both, found))


def _single(both: Both, inputs: Array | None) -> Iterator[Array]:
    """Yield single samples: those of the recorded pass, then one that is drawn."""
    if inputs is not None and inputs.ndim == both.drawn(1, both.shortest).ndim:
        yield from (inputs[place : place + 1] for place in range(min(len(inputs), _MOST_SAMPLES)))
    yield both.drawn(1, both.longest)


def _differs(both: Both, inputs: Array) -> bool:
    try:
        return both.apart(Run(inputs)) > both.bound
    except LoadError:
        return False


def _simpler(both: Both, inputs: Array) -> Array:
    """Return the tokens with as many of them as possible the lowest one; vectors stay as they are."""
    if inputs.dtype.kind not in "iu" or inputs.size > _MOST_SIMPLER:
        return inputs
    for place in range(inputs.shape[1]):
        simpler = inputs.copy()
        simpler[0, place] = max(one.inputs.lowest_token for one in both.offers)
        if simpler[0, place] != inputs[0, place] and _differs(both, simpler):
            inputs = simpler
    return inputs


def in_words(inputs: Array) -> str:
    """Return an input as people write it; of many numbers only how many there are."""
    if inputs.dtype.kind in "iu" and inputs.size <= _MOST_SIMPLER:
        return f"tokens {np.asarray(inputs).tolist()}"
    kind = "tokens" if inputs.dtype.kind in "iu" else "vectors"
    return f"one sample of {inputs.shape[1]} {kind}"
