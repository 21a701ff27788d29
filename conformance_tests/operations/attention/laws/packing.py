"""Sequences that share one call: packed one after the other, padded in front, or hidden in two ways at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import present
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs

_PER_HEAD = ("scaled_dot_product_attention", "grouped_query_attention", "attention_weights")


@judges(
    "mask.packed",
    space=AttentionSpace(mask="always", mask_shapes=("lengths",), lengths="equal", least_queries=3, least_keys=3),
)
def packed(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The second of two documents in one sequence gives the same result as in a call of its own."""
    inputs = trial.inputs
    cut = inputs.query_length // 2
    second = np.arange(inputs.query_length) >= cut
    own = np.flatnonzero(second)
    packed_inputs = replace(inputs, mask=second[:, None] == second[None, :])
    alone = replace(packed_inputs.take_queries(own).take_keys(own), mask=None)
    weights = inputs.operation == "attention_weights"

    def of_second(result: np.ndarray) -> np.ndarray:
        rows = np.take(result, own, axis=inputs.result_axis("queries"))
        return rows[..., cut:] if weights else rows

    return trial.equal(alone, packed_inputs, of_second=of_second)


@judges(
    "mask.left_padding",
    space=AttentionSpace(mask="always", mask_shapes=("keys_only",), least_keys=2),
)
def left_padding(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Keys behind other content that the mask hides give the same result as alone."""
    inputs = trial.inputs
    keys = inputs.key_length
    padding = (keys + 1) // 2
    mask = np.broadcast_to(np.arange(keys) >= padding, (inputs.batch, 1, 1, keys)).copy()
    padded = replace(inputs, mask=mask)
    alone = replace(padded.take_keys(np.arange(padding, keys)), mask=None)
    start = padding if inputs.operation == "attention_weights" else 0
    return trial.equal(alone, padded, of_second=lambda result: result[..., start:])


@judges("mask.composition", space=AttentionSpace(mask="always", bias="always", least_keys=2), operations=_PER_HEAD)
def composition(trial: Trial[AttentionInputs]) -> Verdict:
    """A mask and a bias of −∞ give the same result as one mask that hides the keys that either hides."""
    inputs = trial.inputs
    shape = (inputs.batch, inputs.heads, inputs.query_length, inputs.key_length)
    other = trial.generator.random(shape) < 0.7
    # A key that the mask shows stays visible, so that no row is emptied by the two together.
    other |= np.arange(shape[-1]) == np.argmax(np.broadcast_to(present(inputs.mask), shape), axis=-1)[..., None]
    both = replace(inputs, bias=np.where(other, 0.0, -np.inf))
    return trial.equal(replace(inputs, mask=np.broadcast_to(present(inputs.mask), shape) & other, bias=None), both)
