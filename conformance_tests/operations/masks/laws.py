"""Laws of causal and padding masks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.operations.masks.cases import CausalMaskSpace, PaddingMaskSpace
from veriformer.conformance_tests.operations.masks.inputs import CausalMaskInputs, PaddingMaskInputs

_CAUSAL, _PADDING = ("causal_mask",), ("padding_mask",)


@judges("value", space=CausalMaskSpace(), operations=_CAUSAL)
@judges("value", space=PaddingMaskSpace(), operations=_PADDING)
def agrees_with_definition(trial: Trial[CausalMaskInputs | PaddingMaskInputs]) -> Verdict:
    """Every entry is that of the definition."""
    return trial.agrees()


@judges("own_position", space=CausalMaskSpace(square=True), operations=_CAUSAL)
def own_position(trial: Trial[CausalMaskInputs]) -> Verdict:
    """The diagonal of a square mask is visible."""
    diagonal = np.diagonal(trial.output(trial.inputs))
    return compare(np.ones(diagonal.shape), diagonal, np.zeros(diagonal.shape))


@judges("prefix", space=CausalMaskSpace(square=True), operations=_CAUSAL)
def mask_prefix(trial: Trial[CausalMaskInputs]) -> Verdict:
    """The mask of one token less is the corner of the mask."""
    inputs = trial.inputs
    length = max(inputs.query_length - 1, 1)
    short = trial.output(CausalMaskInputs(length, length))
    return compare(short, trial.output(inputs)[:length, :length], np.zeros((length, length)))


@judges("count", space=PaddingMaskSpace(), operations=_PADDING)
def count(trial: Trial[PaddingMaskInputs]) -> Verdict:
    """Each row has as many True as tokens."""
    inputs = trial.inputs
    counted = trial.output(inputs).sum(axis=-1)
    return compare(inputs.lengths, counted, np.zeros(counted.shape))


@judges("batch.permutation", space=PaddingMaskSpace(least_batch=2), operations=_PADDING)
def padding_samples(trial: Trial[PaddingMaskInputs]) -> Verdict:
    """Lengths in another order give rows in that order."""
    inputs = trial.inputs
    order = trial.permutation(len(inputs.lengths))
    reordered = replace(inputs, lengths=inputs.lengths[order])
    return compare(trial.output(inputs)[order], trial.output(reordered), np.zeros(inputs.result_shape))
