"""Laws of the gradient of rotary embeddings: turning back by position."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.gradients import linear, without_grad_output
from veriformer.conformance_tests.operations.parts import agrees_in
from veriformer.conformance_tests.operations.rotary.cases import RotarySpace
from veriformer.conformance_tests.operations.rotary.inputs import DEFAULT_BASE
from veriformer.conformance_tests.operations.rotary.laws import base_history
from veriformer.conformance_tests.operations.rotary_backward.inputs import RotaryBackwardInputs

_ROTARY = ("rotary_embedding_backward",)
_PARTIAL = RotarySpace(rotary_dim="always", least_width=4)
# What float64 adds when a law multiplies and sums results, for each term of a sum.
_OWN_ROUNDING = 2.0**-52

judges("grad_x", space=RotarySpace(), operations=_ROTARY)(agrees_in())
judges("grad_output.linear", space=RotarySpace(palettes=EXACT_PALETTES), operations=_ROTARY)(linear)
judges("grad_output.zero", space=RotarySpace(), operations=_ROTARY)(without_grad_output)
judges(
    "base.history_independence",
    space=RotarySpace(base="always", rotary_dim="never", least_width=4),
    operations=_ROTARY,
)(base_history)


@judges("norm", space=RotarySpace(), operations=_ROTARY)
def norm(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """The gradient of every pair is as long as the one received."""
    inputs = trial.inputs
    first, second = inputs.pairs(trial.output(inputs), trial.conventions)
    one, other = inputs.pairs(inputs.grad_output, trial.conventions)
    error, _ = inputs.pairs(trial.allowed(inputs), trial.conventions)
    before = one**2 + other**2
    # |a + δ|² − |a|² with both components off by δ.
    allowed = 2.0 * error * (np.abs(one) + np.abs(other) + 2.0 * np.sqrt(before)) + 2.0 * error**2
    return compare(before, first**2 + second**2, allowed + 4.0 * _OWN_ROUNDING * before)


@judges("inverse", space=RotarySpace(), operations=_ROTARY)
def inverse(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """Where the gradients received are turned vectors, these come back."""
    inputs = trial.inputs
    keywords: dict[str, Any] = {"base": inputs.base or DEFAULT_BASE, "rotary_dim": inputs.rotary_dim}
    pairing: Any = trial.conventions["rotary_pairing"]
    turned = reference.rotary_embedding(inputs.grad_output, inputs.positions, pairing=pairing, **keywords)
    given = inputs.with_cotangents(grad_output=turned)
    # What the dtype cannot hold of the turned vectors is turned back too.
    lost = np.abs(given.grad_output - turned) + 4.0 * _OWN_ROUNDING * np.abs(turned)
    for_first, for_second = inputs.pairs(lost, trial.conventions)
    for_first += for_second
    for_second[...] = for_first
    return compare(inputs.grad_output, trial.output(given), trial.allowed(given) + lost)


@judges("position_zero", space=RotarySpace(), operations=_ROTARY)
def position_zero(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """At position 0 the gradients are returned unchanged."""
    inputs = replace(trial.inputs, positions=np.zeros_like(trial.inputs.positions))
    return compare(inputs.grad_output, trial.output(inputs), trial.allowed(inputs))


@judges("additive", space=RotarySpace(), operations=_ROTARY)
def additive(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """Turning back by two parts of a position, one after the other, is turning back by the position."""
    inputs = trial.inputs
    part = inputs.positions // 2
    halfway = replace(inputs, positions=part)
    rest = replace(halfway.with_cotangents(grad_output=trial.output(halfway)), positions=inputs.positions - part)
    # What the first call rounded away turns with it, and stays as long: √2 of the error of one component.
    allowed = trial.allowed(inputs, rest) + np.sqrt(2.0) * trial.allowed(halfway)
    return compare(trial.output(inputs), trial.output(rest), allowed)


@judges("x.no_influence", space=RotarySpace(), operations=_ROTARY)
def other_vectors(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """Other vectors give the same gradients."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.with_x(inputs.other_x(trial.generator)))


@judges("rotary_dim.untouched", space=_PARTIAL, operations=_ROTARY)
def untouched(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """The gradients of components that do not turn are returned bit for bit."""
    inputs = trial.inputs
    rest = inputs.grad_output[..., inputs.turned :]
    return compare(rest, trial.output(inputs)[..., inputs.turned :], np.zeros(rest.shape))


@judges("rotary_dim.narrow_vector", space=_PARTIAL, operations=_ROTARY)
def narrow_vector(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """Without the components that do not turn, the gradients of the others are turned in the same way."""
    inputs = trial.inputs
    narrow = replace(inputs.both((..., slice(inputs.turned))), rotary_dim=None)
    return trial.equal(narrow, inputs, of_second=lambda result: result[..., : inputs.turned])


@judges("tokens.permutation", space=RotarySpace(least_length=2), operations=_ROTARY)
def tokens(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """Rows in another order, each with its position and gradient, have their gradients in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[2])
    rows = (slice(None), slice(None), order)
    reordered = replace(inputs.both(rows), positions=inputs.positions[..., order])
    return trial.equal(inputs, reordered, of_first=lambda result: result[rows])


@judges("positions.per_sample", space=RotarySpace(per_sample="always", least_batch=2), operations=_ROTARY)
def per_sample(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """The last sample, at its own positions, has the same gradients alone as in its batch."""
    inputs = trial.inputs
    alone = replace(inputs.both((slice(-1, None),)), positions=inputs.positions[-1])
    return trial.equal(alone, inputs, of_second=lambda result: result[-1:])


@judges("heads.independence", space=RotarySpace(least_heads=2), operations=_ROTARY)
def heads_alone(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """The last head has the same gradients alone as among the others."""
    inputs = trial.inputs
    return trial.equal(inputs.both((slice(None), slice(-1, None))), inputs, of_second=lambda result: result[:, -1:])


@judges("batch.permutation", space=RotarySpace(least_batch=2), operations=_ROTARY)
def samples(trial: Trial[RotaryBackwardInputs]) -> Verdict:
    """Samples in another order, each with its positions and gradients, have their gradients in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.x.shape[0])
    return trial.equal(inputs, inputs.take_samples(order), of_first=lambda result: result[order])
