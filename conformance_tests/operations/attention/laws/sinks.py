"""Sinks: one logit more for each head, which takes weight and has no value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import present
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs

_WITH_SINKS = AttentionSpace(sinks="always", amplitudes=(1,))
# Below any logit of amplitude 1 by more than the logarithm of the smallest float64, and a float16 number.
_NEGLIGIBLE = -4096.0


@judges("sinks.value", space=replace(_WITH_SINKS, mask="sometimes", causal="sometimes"))
@judges("sinks.unscaled", space=replace(_WITH_SINKS, scale="always"))
@judges("sinks.uncapped", space=replace(_WITH_SINKS, softcap="always"))
@judges(
    "order_of_steps",
    space=AttentionSpace(
        scale="always",
        softcap="always",
        bias="always",
        mask="always",
        window="always",
        sinks="always",
        causal="sometimes",
        least_queries=3,
        least_keys=3,
    ),
)
def agrees_with_formula(trial: Trial[AttentionInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("sinks.extra_key", space=replace(_WITH_SINKS, bias="always"))
def extra_key(trial: Trial[AttentionInputs]) -> Verdict:
    """One more key of zeros, with the sink as its bias and no value, gives the same result as the sink."""
    inputs = trial.inputs
    bias, nothing = present(inputs.bias), ((0, 0), (0, 0), (0, 1), (0, 0))
    column = np.broadcast_to(present(inputs.sinks)[:, None, None], (*bias.shape[:-1], 1))
    longer = replace(
        inputs,
        key=np.pad(inputs.key, nothing),
        value=np.pad(present(inputs.value), nothing),
        bias=np.concatenate([bias, column], axis=-1),
        sinks=None,
    )
    return trial.equal(longer, inputs)


@judges("sinks.weights_below_one", space=replace(_WITH_SINKS, mask="sometimes"))
def weights_below_one(trial: Trial[AttentionInputs]) -> Verdict:
    """With values of one the output is the weight that the sink leaves to the keys."""
    return trial.agrees(replace(trial.inputs, value=np.ones_like(present(trial.inputs.value))))


@judges("sinks.weights_below_one", space=replace(_WITH_SINKS, mask="sometimes"), operations=("attention_weights",))
def rows_below_one(trial: Trial[AttentionInputs]) -> Verdict:
    """The weights of each row sum to the weight that the sink leaves to the keys."""
    inputs = trial.inputs
    expected, output = trial.expected(inputs), trial.output(inputs)
    seen = ~inputs.empty_rows(trial.conventions)
    return compare(expected.value.sum(axis=-1), output.sum(axis=-1), expected.allowed.sum(axis=-1), seen)


@judges("sinks.negligible", space=replace(_WITH_SINKS, mask="sometimes"))
def negligible(trial: Trial[AttentionInputs]) -> Verdict:
    """Sinks far below all logits give the same result as no sinks."""
    inputs = trial.inputs
    return trial.equal(replace(inputs, sinks=None), replace(inputs, sinks=np.full(inputs.heads, _NEGLIGIBLE)))


@judges(
    "sinks.empty_row", space=replace(_WITH_SINKS, mask="always", mask_kinds=("empty_rows",), mask_shapes=("lengths",))
)
def empty_row(trial: Trial[AttentionInputs]) -> Verdict:
    """A query without a visible key returns zero."""
    inputs = trial.inputs
    expected, output = trial.expected(inputs), trial.output(inputs)
    empty = np.broadcast_to(inputs.empty_rows(trial.conventions)[..., None], output.shape)
    return compare(np.zeros(output.shape), output, expected.allowed, empty)


@judges("sinks.per_head", space=replace(_WITH_SINKS, least_heads=2))
def per_head(trial: Trial[AttentionInputs]) -> Verdict:
    """Groups of heads and their sinks in another order give results in that order."""
    inputs = trial.inputs
    group = inputs.group_size
    groups = trial.permutation(inputs.heads // group)
    order = (groups[:, None] * group + np.arange(group)).reshape(-1)
    return trial.equal(inputs, inputs.take_heads(order), of_first=lambda result: result[:, order])
