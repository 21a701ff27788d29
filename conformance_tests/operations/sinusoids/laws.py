"""Laws of sinusoidal positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.sinusoids.cases import PositionSpace
from veriformer.conformance_tests.operations.sinusoids.inputs import PositionInputs

_POSITIONS = ("sinusoidal_positions",)


@judges("values", space=PositionSpace(), operations=_POSITIONS)
def agrees_with_definition(trial: Trial[PositionInputs]) -> Verdict:
    """Every entry is that of the definition."""
    return trial.agrees()


@judges("relative_inner_product", space=PositionSpace(least_length=2), operations=_POSITIONS)
def relative_inner_product(trial: Trial[PositionInputs]) -> Verdict:
    """The products of all pairs of encodings are sums of cosines of their distance."""
    inputs = trial.inputs
    table, allowed = trial.output(inputs), trial.allowed(inputs)
    distances = np.subtract.outer(np.arange(inputs.length), np.arange(inputs.length))
    cosines = np.cos(distances[..., None] * inputs.frequencies).sum(axis=-1)
    return compare(cosines, table @ table.T, _product_error(table, allowed))


@judges("norm", space=PositionSpace(), operations=_POSITIONS)
def norm(trial: Trial[PositionInputs]) -> Verdict:
    """Every encoding has the squared length d_model/2."""
    inputs = trial.inputs
    table, allowed = trial.output(inputs), trial.allowed(inputs)
    squares = np.sum(table * table, axis=-1)
    return compare(np.full(squares.shape, inputs.d_model / 2), squares, np.diag(_product_error(table, allowed)))


def _product_error(table: Array, allowed: Array) -> Array:
    """Return the error of table · tableᵀ when each entry may be off by `allowed`; float64 adds its own."""
    magnitude = np.abs(table)
    crossed = magnitude @ allowed.T
    error: Array = crossed + crossed.T + allowed @ allowed.T + 1e-15 * table.shape[-1]
    return error


@judges("shift_by_rotation", space=PositionSpace(least_length=2), operations=_POSITIONS)
def shift_by_rotation(trial: Trial[PositionInputs]) -> Verdict:
    """One rotation by the first step's angles carries every encoding to its successor."""
    inputs = trial.inputs
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
def table_prefix(trial: Trial[PositionInputs]) -> Verdict:
    """A shorter table is the beginning of a longer one."""
    inputs = trial.inputs
    short = replace(inputs, length=inputs.length - 1)
    allowed = 2.0 * trial.allowed(short)
    return compare(trial.output(short), trial.output(inputs)[:-1], allowed)
