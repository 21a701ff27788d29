"""Soft caps: between scale and bias, and bounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import present
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs

_CAPPED = AttentionSpace(softcap="always", least_keys=2)
_LARGE_CAP = 1024.0


@judges("softcap.value", space=replace(_CAPPED, causal="sometimes"))
@judges("softcap.after_scale", space=replace(_CAPPED, scale="always"))
@judges("softcap.before_bias", space=replace(_CAPPED, bias="always"))
@judges("softcap.before_mask", space=replace(_CAPPED, mask="always"))
def agrees_with_formula(trial: Trial[AttentionInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("softcap.off", space=_CAPPED)
def off(trial: Trial[AttentionInputs]) -> Verdict:
    """A cap of zero gives the same result as no cap."""
    inputs = trial.inputs
    return trial.equal(replace(inputs, softcap=None), replace(inputs, softcap=0.0))


@judges("softcap.large", space=replace(_CAPPED, amplitudes=(1,)))
def large(trial: Trial[AttentionInputs]) -> Verdict:
    """A cap far above the logits gives the same result as no cap, up to its exact effect."""
    inputs = trial.inputs
    plain, capped = replace(inputs, softcap=None), replace(inputs, softcap=_LARGE_CAP)
    one, other = (trial.expected(given) for given in (plain, capped))
    allowed = one.allowed + other.allowed + np.abs(one.value - other.value)
    return compare(trial.output(plain), trial.output(capped), allowed, one.judged)


@judges("softcap.bounded", space=replace(_CAPPED, amplitudes=(4, 10)))
def bounded(trial: Trial[AttentionInputs]) -> Verdict:
    """The weight of the first key, read off by a value that only it has, lies within the limits of the cap."""
    inputs = trial.inputs
    only_first = np.zeros_like(present(inputs.value))
    only_first[:, :, 0] = 1.0
    others, ratio = inputs.key_length - 1, np.exp(2.0 * present(inputs.softcap))
    inputs = replace(inputs, value=only_first)
    weight, expected = trial.output(inputs), trial.expected(inputs)
    nearest = np.clip(weight, 1.0 / (1.0 + others * ratio), 1.0 / (1.0 + others / ratio))
    return compare(nearest, weight, expected.allowed, expected.judged, may_be_nan=False)
