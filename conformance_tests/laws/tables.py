"""Masks and position encodings built from lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.cases.spaces import CausalMaskSpace, PaddingMaskSpace, PositionSpace
from veriformer.conformance_tests.inputs.tables import CausalMaskInputs, PaddingMaskInputs, PositionInputs
from veriformer.conformance_tests.law import judges
from veriformer.conformance_tests.trial import Trial
from veriformer.conformance_tests.verdict import Verdict, compare

Array = np.ndarray
_CAUSAL, _PADDING, _POSITIONS = ("causal_mask",), ("padding_mask",), ("sinusoidal_positions",)


@judges("value", space=CausalMaskSpace(), operations=_CAUSAL)
@judges("value", space=PaddingMaskSpace(), operations=_PADDING)
@judges("values", space=PositionSpace(), operations=_POSITIONS)
def agrees_with_definition(trial: Trial) -> Verdict:
    """Every entry is that of the definition."""
    return trial.agrees()


@judges("own_position", space=CausalMaskSpace(square=True), operations=_CAUSAL)
def own_position(trial: Trial) -> Verdict:
    """The diagonal of a square mask is visible."""
    diagonal = np.diagonal(trial.output(trial.inputs))
    return compare(np.ones(diagonal.shape), diagonal, np.zeros(diagonal.shape))


@judges("prefix", space=CausalMaskSpace(square=True), operations=_CAUSAL)
def mask_prefix(trial: Trial) -> Verdict:
    """The mask of one token less is the corner of the mask."""
    inputs: CausalMaskInputs = trial.inputs
    length = max(inputs.query_length - 1, 1)
    short = trial.output(CausalMaskInputs(length, length))
    return compare(short, trial.output(inputs)[:length, :length], np.zeros((length, length)))


@judges("count", space=PaddingMaskSpace(), operations=_PADDING)
def count(trial: Trial) -> Verdict:
    """Each row has as many True as tokens."""
    inputs: PaddingMaskInputs = trial.inputs
    counted = trial.output(inputs).sum(axis=-1)
    return compare(inputs.lengths, counted, np.zeros(counted.shape))


@judges("batch.permutation", space=PaddingMaskSpace(least_batch=2), operations=_PADDING)
def padding_samples(trial: Trial) -> Verdict:
    """Lengths in another order give rows in that order."""
    inputs: PaddingMaskInputs = trial.inputs
    order = trial.permutation(len(inputs.lengths))
    reordered = replace(inputs, lengths=inputs.lengths[order])
    return compare(trial.output(inputs)[order], trial.output(reordered), np.zeros(inputs.result_shape))


@judges("relative_inner_product", space=PositionSpace(least_length=2), operations=_POSITIONS)
def relative_inner_product(trial: Trial) -> Verdict:
    """The products of all pairs of encodings are sums of cosines of their distance."""
    inputs: PositionInputs = trial.inputs
    table, allowed = trial.output(inputs), trial.expected(inputs).allowed
    distances = np.subtract.outer(np.arange(inputs.length), np.arange(inputs.length))
    cosines = np.cos(distances[..., None] * inputs.frequencies).sum(axis=-1)
    return compare(cosines, table @ table.T, _product_error(table, allowed))


@judges("norm", space=PositionSpace(), operations=_POSITIONS)
def norm(trial: Trial) -> Verdict:
    """Every encoding has the squared length d_model/2."""
    inputs: PositionInputs = trial.inputs
    table, allowed = trial.output(inputs), trial.expected(inputs).allowed
    squares = np.sum(table * table, axis=-1)
    return compare(np.full(squares.shape, inputs.d_model / 2), squares, np.diag(_product_error(table, allowed)))


def _product_error(table: Array, allowed: Array) -> Array:
    """Return the error of table · tableᵀ when each entry may be off by `allowed`; float64 adds its own."""
    magnitude = np.abs(table)
    crossed = magnitude @ allowed.T
    error: Array = crossed + crossed.T + allowed @ allowed.T + 1e-15 * table.shape[-1]
    return error


@judges("shift_by_rotation", space=PositionSpace(least_length=2), operations=_POSITIONS)
def shift_by_rotation(trial: Trial) -> Verdict:
    """One rotation by the first step's angles carries every encoding to its successor."""
    inputs: PositionInputs = trial.inputs
    table, expected = trial.output(inputs), trial.expected(inputs)
    concatenated = trial.conventions["sinusoidal_layout"] == "concatenated"
    sines, cosines = _pairs(table, concatenated=concatenated)
    sine_error, cosine_error = _pairs(expected.allowed, concatenated=concatenated)
    cos, sin = np.cos(inputs.frequencies), np.sin(inputs.frequencies)
    moved = np.stack((cos * sines + sin * cosines, cos * cosines - sin * sines))[:, :-1]
    error = (
        np.abs(cos) * sine_error + np.abs(sin) * cosine_error,
        np.abs(cos) * cosine_error + np.abs(sin) * sine_error,
    )
    allowed = np.stack(error)[:, :-1] + np.stack((sine_error, cosine_error))[:, 1:] + 1e-15
    return compare(moved, np.stack((sines, cosines))[:, 1:], allowed)


def _pairs(table: Array, *, concatenated: bool) -> tuple[Array, Array]:
    """Return the sines and the cosines of a table in either layout."""
    if concatenated:
        half = table.shape[-1] // 2
        return table[:, :half], table[:, half:]
    return table[:, 0::2], table[:, 1::2]


@judges("prefix", space=PositionSpace(least_length=2), operations=_POSITIONS)
def table_prefix(trial: Trial) -> Verdict:
    """A shorter table is the beginning of a longer one."""
    inputs: PositionInputs = trial.inputs
    short = replace(inputs, length=inputs.length - 1)
    allowed = 2.0 * trial.expected(short).allowed
    return compare(trial.output(short), trial.output(inputs)[:-1], allowed)
