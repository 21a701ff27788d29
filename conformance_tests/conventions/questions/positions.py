"""Questions about rotary embeddings and sinusoids."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.conventions.asking import Answer, Ask, Asking
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.rotary.cases import RotaryCase
from veriformer.conformance_tests.operations.rotary.inputs import RotaryInputs
from veriformer.conformance_tests.operations.sinusoids.inputs import PositionInputs
from veriformer.spec.conventions import CONVENTIONS

# Far from the entries of the question, so that pairs of low frequency, which turn little, show it as well.
_OTHER_CONTENT = 9.0


def sinusoidal_layout(asking: Asking) -> Answer:
    """Ask for a few positions."""
    return asking.compared([PositionInputs(5, 8, asking.dtype)])


def rotary_pairing(asking: Asking) -> Answer:
    """Ask at positions where no two pairings agree, then which components mix, so that no wrong angle hides it."""
    # Four pairs at positions up to 9; the keywords stay at what they are by default.
    case = RotaryCase(2, 3, 4, 8, asking.dtype, "integers", furthest=9, seed=7)
    inputs = RotaryInputs.draw(asking.operation, case)
    by_formula = asking.compared([inputs])
    mixing = None if by_formula.fits else _mixed_components(inputs, asking.result)
    if mixing is None:
        return by_formula
    fits = _pairings_that_mix(mixing)
    evidence = (asking.evidence(inputs, _mixing_words(mixing), fits),)
    # That the vectors are turned in another way than any known does not tell: only which components are.
    return Answer(fits, evidence if fits else by_formula.evidence + evidence)


def _mixed_components(inputs: RotaryInputs, ask: Ask) -> Array | None:
    """Return whether component j of the result depends on component i of the vectors, (D, D); None without an answer.

    Position, direction and frequency decide by how much it does, so that a wrong angle changes nothing here.
    """
    before = ask(inputs)
    if before is None:
        return None
    rows = []
    for component in range(inputs.x.shape[-1]):
        x = inputs.x.copy()
        x[..., component] = _OTHER_CONTENT
        after = ask(inputs.with_x(x))
        if after is None:
            return None
        rows.append((before != after).any(axis=tuple(range(before.ndim - 1))))
    return np.stack(rows)


def _pairings_that_mix(mixing: Array) -> tuple[str, ...]:
    """Return the values of `rotary_pairing` under which these components mix and no others: at most one."""
    values = CONVENTIONS["rotary_pairing"].value_names
    return tuple(value for value in values if np.array_equal(mixing, _mixing_of(value, len(mixing))))


def _mixing_words(mixing: Array) -> str:
    """Return which components of the vectors each component of the result depends on."""
    rows = [" and ".join(str(i) for i in np.flatnonzero(column)) or "none" for column in mixing.T]
    return "; ".join(f"component {j} depends on {components}" for j, components in enumerate(rows))


def _mixing_of(pairing: Any, width: int) -> Array:
    """Return which components mix where all of them turn in pairs, (D, D)."""
    first, second = (np.arange(width)[places] for places in reference.pair_places(width, pairing))
    pairs = np.eye(width, dtype=bool)
    pairs[first, second] = pairs[second, first] = True
    return pairs
