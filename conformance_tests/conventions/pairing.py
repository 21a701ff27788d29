"""Which components a rotary embedding turns together, found by changing one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.rotary.inputs import RotaryInputs
from veriformer.spec.conventions import CONVENTIONS

# Far from the entries of the question, so that pairs of low frequency, which turn little, show it as well.
_OTHER_CONTENT = 9.0


def mixed_components(inputs: RotaryInputs, output: Callable[[RotaryInputs], Array | None]) -> Array | None:
    """Return whether component j of the result depends on component i of the vectors, (D, D); None without an answer.

    Position, direction and frequency decide by how much it does, so that a wrong angle changes nothing here.
    """
    before = output(inputs)
    if before is None:
        return None
    rows = []
    for component in range(inputs.x.shape[-1]):
        x = inputs.x.copy()
        x[..., component] = _OTHER_CONTENT
        after = output(inputs.with_x(x))
        if after is None:
            return None
        rows.append((before != after).any(axis=tuple(range(before.ndim - 1))))
    return np.stack(rows)


def pairings_that_mix(mixing: Array) -> list[str]:
    """Return the values of `rotary_pairing` under which these components mix and no others: at most one."""
    values = CONVENTIONS["rotary_pairing"].value_names
    return [value for value in values if np.array_equal(mixing, _mixing_of(value, len(mixing)))]


def mixing_words(mixing: Array) -> str:
    """Return which components of the vectors each component of the result depends on."""
    rows = [" and ".join(str(i) for i in np.flatnonzero(column)) or "none" for column in mixing.T]
    return "; ".join(f"component {j} depends on {components}" for j, components in enumerate(rows))


def _mixing_of(pairing: Any, width: int) -> Array:
    """Return which components mix where all of them turn in pairs, (D, D)."""
    first, second = (np.arange(width)[places] for places in reference.pair_places(width, pairing))
    pairs = np.eye(width, dtype=bool)
    pairs[first, second] = pairs[second, first] = True
    return pairs
