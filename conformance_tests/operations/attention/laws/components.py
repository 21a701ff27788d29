"""Components of queries, keys and values: which changes of basis an attention cannot see."""

from __future__ import annotations

from dataclasses import replace

from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import present
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs


@judges("keys.shift", space=AttentionSpace(mask="sometimes", palettes=EXACT_PALETTES, least_keys=2))
def key_shift(trial: Trial[AttentionInputs]) -> Verdict:
    """Adding one vector of small integers, which every dtype adds exactly, to every key changes nothing."""
    inputs = trial.inputs
    shift = trial.generator.integers(-3, 4, (*inputs.key.shape[:2], 1, inputs.key.shape[-1])).astype(float)
    return trial.equal(inputs, replace(inputs, key=inputs.key + shift))


@judges("components.permutation", space=AttentionSpace(mask="sometimes", least_width=2, least_keys=2))
def components(trial: Trial[AttentionInputs]) -> Verdict:
    """Components in another order and with other signs, in both queries and keys, change nothing."""
    inputs = trial.inputs
    width = inputs.query.shape[-1]
    order, signs = trial.permutation(width), trial.generator.choice((-1.0, 1.0), width)
    return trial.equal(
        inputs, replace(inputs, query=inputs.query[..., order] * signs, key=inputs.key[..., order] * signs)
    )


@judges("values.components", space=AttentionSpace(mask="sometimes", causal="sometimes"))
def value_components(trial: Trial[AttentionInputs]) -> Verdict:
    """Reordering the components of the values reorders those of the output in the same way."""
    inputs = trial.inputs
    value = present(inputs.value)
    order = trial.permutation(value.shape[-1])
    return trial.equal(inputs, replace(inputs, value=value[..., order]), of_first=lambda result: result[..., order])
