"""Rotary embeddings: turning by position."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.rotary.cases import RotarySpace
from veriformer.conformance_tests.operations.rotary.inputs import RotaryInputs

_ROTARY = ("rotary_embedding",)
# What float64 adds when a law multiplies and sums results, for each term of a sum.
_OWN_ROUNDING = 2.0**-52


@judges("value", space=RotarySpace(), operations=_ROTARY)
@judges("base", space=RotarySpace(base="always", rotary_dim="never", least_width=4), operations=_ROTARY)
def agrees_with_definition(trial: Trial[RotaryInputs]) -> Verdict:
    """Every component is that of the definition."""
    return trial.agrees()


@judges("norm", space=RotarySpace(), operations=_ROTARY)
def norm(trial: Trial[RotaryInputs]) -> Verdict:
    """Every pair keeps its length."""
    inputs = trial.inputs
    first, second = inputs.pairs(trial.output(inputs), trial.conventions)
    one, other = inputs.pairs(inputs.x, trial.conventions)
    error, _ = inputs.pairs(trial.allowed(inputs), trial.conventions)
    before = one**2 + other**2
    # |a + δ|² − |a|² with both components off by δ.
    allowed = 2.0 * error * (np.abs(one) + np.abs(other) + 2.0 * np.sqrt(before)) + 2.0 * error**2
    return compare(before, first**2 + second**2, allowed + 4.0 * _OWN_ROUNDING * before)


@judges("relative", space=RotarySpace(least_length=2), operations=_ROTARY)
def relative(trial: Trial[RotaryInputs]) -> Verdict:
    """Adding the same distance to all positions does not change any inner product of queries and keys."""
    query: RotaryInputs = trial.inputs
    generator = trial.generator
    key = query.with_x(query.other_x(generator))
    added = int(generator.integers(1, 40))
    (before, error), (after, moved_error) = (
        _inner_products(trial, query.at(query.positions + by), key.at(query.positions + by)) for by in (0, added)
    )
    return compare(before, after, error + moved_error, note=f"all positions raised by {added}")


def _inner_products(trial: Trial[RotaryInputs], query: RotaryInputs, key: RotaryInputs) -> tuple[Array, Array]:
    """Return the products of all queries and keys, (B, H, L, L), and their error.

    No component is larger than its vector is long, nor its error than the largest: so the bound holds for any pairing.
    """
    width = query.x.shape[-1]
    errors = [trial.allowed(inputs).max(axis=-1, keepdims=True) for inputs in (query, key)]
    sizes = [
        np.linalg.norm(inputs.x, axis=-1, keepdims=True) + error
        for inputs, error in zip((query, key), errors, strict=True)
    ]
    products = trial.output(query) @ trial.output(key).swapaxes(-1, -2)
    error = errors[0] @ sizes[1].swapaxes(-1, -2) + sizes[0] @ errors[1].swapaxes(-1, -2)
    own = (width + 1) * _OWN_ROUNDING * (sizes[0] @ sizes[1].swapaxes(-1, -2))
    return products, width * (error + own)


@judges("additive", space=RotarySpace(), operations=_ROTARY)
def additive(trial: Trial[RotaryInputs]) -> Verdict:
    """Turning by two parts of a position, one after the other, is turning by the position."""
    inputs = trial.inputs
    part = inputs.positions // 2
    halfway = inputs.at(part)
    first = trial.output(halfway)
    rest = halfway.with_x(first).at(inputs.positions - part)
    # What the first call rounded away turns with it, and stays as long: √2 of the error of one component.
    kept = np.sqrt(2.0) * trial.allowed(halfway)
    allowed = trial.allowed(inputs, rest) + kept
    return compare(trial.output(inputs), trial.output(rest), allowed)


@judges("position_zero", space=RotarySpace(), operations=_ROTARY)
def position_zero(trial: Trial[RotaryInputs]) -> Verdict:
    """At position 0 the vectors are returned unchanged."""
    inputs = trial.inputs.at(np.zeros_like(trial.inputs.positions))
    return compare(inputs.x, trial.output(inputs), trial.allowed(inputs))


@judges("linear", space=RotarySpace(palettes=EXACT_PALETTES), operations=_ROTARY)
def linear(trial: Trial[RotaryInputs]) -> Verdict:
    """The result of a combination is the combination of the results."""
    one: RotaryInputs = trial.inputs
    other = one.with_x(one.other_x(trial.generator))
    both = one.with_x(2.0 * one.x + 3.0 * other.x)
    errors = [trial.allowed(inputs) for inputs in (one, other, both)]
    combined = 2.0 * trial.output(one) + 3.0 * trial.output(other)
    allowed = 2.0 * errors[0] + 3.0 * errors[1] + errors[2] + 4.0 * _OWN_ROUNDING * np.abs(combined)
    return compare(combined, trial.output(both), allowed)


@judges(
    "base.history_independence",
    space=RotarySpace(base="always", rotary_dim="never", least_width=4),
    operations=_ROTARY,
)
def base_history(trial: Trial[RotaryInputs]) -> Verdict:
    """After a call with another base, and after one with its own again, the result is that of the base given."""
    inputs = trial.inputs
    base = inputs.base or 1.0
    other = replace(inputs, base=7.0 * base)
    trial.output(inputs)
    after = trial.agrees(other)
    return trial.agrees(inputs) if after.holds else replace(after, note=f"after a call with base {base:g}")


_PARTIAL = RotarySpace(rotary_dim="always", least_width=4)


@judges("rotary_dim.untouched", space=_PARTIAL, operations=_ROTARY)
def untouched(trial: Trial[RotaryInputs]) -> Verdict:
    """The components that do not turn are returned bit for bit."""
    inputs = trial.inputs
    rest = inputs.x[..., inputs.turned :]
    return compare(rest, trial.output(inputs)[..., inputs.turned :], np.zeros(rest.shape))


@judges("rotary_dim.narrow_vector", space=_PARTIAL, operations=_ROTARY)
def narrow_vector(trial: Trial[RotaryInputs]) -> Verdict:
    """Without the components that do not turn, the others turn in the same way."""
    inputs = trial.inputs
    narrow = replace(inputs, x=inputs.x[..., : inputs.turned].copy(), rotary_dim=None)
    return trial.equal(narrow, inputs, of_second=lambda result: result[..., : inputs.turned])


@judges("tokens.permutation", space=RotarySpace(least_length=2), operations=_ROTARY)
def tokens(trial: Trial[RotaryInputs]) -> Verdict:
    """Rows in another order, each with its position, are returned in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[2])
    reordered = inputs.with_x(inputs.x[:, :, order]).at(inputs.positions[..., order])
    return trial.equal(inputs, reordered, of_first=lambda result: result[:, :, order])


@judges("positions.per_sample", space=RotarySpace(per_sample="always", least_batch=2), operations=_ROTARY)
def per_sample(trial: Trial[RotaryInputs]) -> Verdict:
    """The last sample, at its own positions, gives the same result alone as in its batch."""
    inputs = trial.inputs
    alone = inputs.with_x(inputs.x[-1:]).at(inputs.positions[-1])
    return trial.equal(alone, inputs, of_second=lambda result: result[-1:])


@judges("positions.shared", space=RotarySpace(per_sample="never"), operations=_ROTARY)
def shared(trial: Trial[RotaryInputs]) -> Verdict:
    """Shared positions, repeated for every sample, give the same."""
    inputs = trial.inputs
    repeated = np.repeat(inputs.positions[None], inputs.x.shape[0], axis=0)
    return trial.equal(inputs, inputs.at(repeated))


@judges("heads.independence", space=RotarySpace(least_heads=2), operations=_ROTARY)
def heads_alone(trial: Trial[RotaryInputs]) -> Verdict:
    """The last head gives the same result alone as among the others."""
    inputs = trial.inputs
    alone = inputs.with_x(inputs.x[:, -1:])
    return trial.equal(alone, inputs, of_second=lambda result: result[:, -1:])


@judges("batch.permutation", space=RotarySpace(least_batch=2), operations=_ROTARY)
def samples(trial: Trial[RotaryInputs]) -> Verdict:
    """Samples in another order, each with its positions, are returned in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[0])
    positions = inputs.positions[order] if inputs.positions.ndim == 2 else inputs.positions
    return trial.equal(inputs, inputs.with_x(inputs.x[order]).at(positions), of_first=lambda result: result[order])
