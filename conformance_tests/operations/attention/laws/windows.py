"""Windows: near keys are seen, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import present
from veriformer.conformance_tests.operations.attention.case import AttentionSpace, Window
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs

_WINDOWED = AttentionSpace(window="always", least_queries=2, least_keys=2)
_EQUAL = replace(_WINDOWED, lengths="equal")


@judges("window.value", space=_EQUAL)
@judges("window.unequal_lengths", space=replace(_WINDOWED, lengths="unequal"))
@judges("window.with_causal", space=replace(_EQUAL, causal="always"))
@judges("window.with_mask", space=replace(_EQUAL, mask="always"))
def agrees_with_formula(trial: Trial[AttentionInputs]) -> Verdict:
    """The result is that of a softmax over the keys in the window."""
    return trial.agrees()


@judges("window.wide", space=replace(_WINDOWED, causal="sometimes"))
def wide(trial: Trial[AttentionInputs]) -> Verdict:
    """A window longer than both sequences gives the same result as no window."""
    inputs = trial.inputs
    return trial.equal(replace(inputs, window=None), replace(inputs, window=_wide(inputs)))


def _wide(inputs: AttentionInputs) -> Window:
    longest = inputs.query_length + inputs.key_length
    return longest, longest


@judges("window.unlimited", space=_WINDOWED)
def unlimited(trial: Trial[AttentionInputs]) -> Verdict:
    """None and −1 on one side give the same result as a wide window there."""
    inputs = trial.inputs
    left, right = _wide(inputs)
    # One of four spellings for each case, so that a compiling framework meets few new programs.
    spellings: tuple[tuple[Window, Window], ...] = (
        ((left, 0), (None, 0)),
        ((1, right), (1, None)),
        ((left, 0), (-1, 0)),
        ((1, right), (1, -1)),
    )
    written, spelt = spellings[int(trial.generator.integers(len(spellings)))]
    return trial.equal(replace(inputs, window=written), replace(inputs, window=spelt))


@judges("window.explicit_mask", space=_WINDOWED)
def explicit_mask(trial: Trial[AttentionInputs]) -> Verdict:
    """The explicit banded mask gives the same result as the window."""
    inputs = trial.inputs
    mask = reference.window_mask(
        inputs.query_length,
        inputs.key_length,
        present(inputs.window),
        causal_alignment=trial.conventions["causal_alignment"],
        window_counting=trial.conventions["window_counting"],
    )
    return trial.equal(replace(inputs, window=None, mask=mask), inputs)


@judges("window.own_position", space=_EQUAL)
def own_position(trial: Trial[AttentionInputs]) -> Verdict:
    """A window of the own position alone returns the values."""
    inputs = trial.inputs
    exclusive = trial.conventions["window_counting"] == "exclusive"
    return trial.agrees(replace(inputs, window=(1, 0) if exclusive else (0, 0)))


@judges("window.no_leak", space=replace(_EQUAL, least_queries=3, least_keys=3))
def no_leak(trial: Trial[AttentionInputs]) -> Verdict:
    """Other content in the first key does not affect the queries whose window begins after it."""
    inputs: AttentionInputs = replace(trial.inputs, window=(1, 1))
    first = np.zeros_like(inputs.unseen_keys(trial.conventions))
    first[..., 0] = True

    def later(result: np.ndarray) -> np.ndarray:
        return np.asarray(result[:, :, 2:])

    return trial.equal(inputs, inputs.with_keys_replaced(first, 5.0), of_first=later, of_second=later)


@judges("window.causal_as_window", space=replace(_WINDOWED, causal="always"))
def causal_as_window(trial: Trial[AttentionInputs]) -> Verdict:
    """A window with nothing to the right gives the same result as the causal flag."""
    flagged: AttentionInputs = replace(trial.inputs, window=None)
    return trial.equal(flagged, replace(flagged, is_causal=False, window=(None, 0)))
