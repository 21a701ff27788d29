"""Attention of one head between projections of one sequence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Selection, Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.operations.attention.case import MASK_SHAPES_OF_ONE_HEAD, AttentionSpace
from veriformer.conformance_tests.operations.single_head.inputs import SingleHeadInputs

_SINGLE_HEAD = ("single_head_attention",)
_SELF = AttentionSpace(heads=1, lengths="equal", biases="never", mask_shapes=MASK_SHAPES_OF_ONE_HEAD)
_MASKED = replace(_SELF, mask="always", least_queries=2, least_keys=2)
_OF_KEYS = replace(_MASKED, mask_kinds=("padding", "left_padding"), mask_shapes=("keys_only",))
_EMPTY = replace(_MASKED, mask_kinds=("empty_rows",), mask_shapes=("full", "lengths"))
_LARGE = replace(_SELF, amplitudes=(10, 30), palettes=("integers", "normal", "offset"))


@judges("value", space=replace(_SELF, mask="sometimes"), operations=_SINGLE_HEAD)
@judges("scale", space=replace(_SELF, least_width=2, least_queries=2, least_keys=2), operations=_SINGLE_HEAD)
@judges("large_logits", space=_LARGE, operations=_SINGLE_HEAD)
@judges("mask.value", space=_MASKED, operations=_SINGLE_HEAD)
@judges("mask.polarity", space=replace(_MASKED, mask_kinds=("one_visible",)), operations=_SINGLE_HEAD)
@judges("mask.empty_row_is_local", space=_EMPTY, operations=_SINGLE_HEAD)
def agrees_with_formula(trial: Trial[SingleHeadInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("mask.empty_row", space=_EMPTY, operations=_SINGLE_HEAD)
def empty_row(trial: Trial[SingleHeadInputs]) -> Verdict:
    """A position that sees nothing gets the result that the convention specifies."""
    expected = trial.expected(trial.inputs)
    return trial.within(expected.value, trial.output(trial.inputs), lambda bound: bound(trial.inputs))


@judges("single_token", space=replace(_SELF, queries=1, keys=1), operations=_SINGLE_HEAD)
def single_token(trial: Trial[SingleHeadInputs]) -> Verdict:
    """A single token gets its own value, for any other projections."""
    inputs = trial.inputs
    value = inputs.x @ inputs.weights.w_v
    return trial.within(value, trial.output(inputs), lambda bound: bound(inputs))


@judges("projections.rescaled", space=replace(_SELF, mask="sometimes"), operations=_SINGLE_HEAD)
def rescaled_projections(trial: Trial[SingleHeadInputs]) -> Verdict:
    """Twice the queries and half the keys have the same logits."""
    inputs = trial.inputs
    weights = inputs.weights
    return trial.equal(inputs, inputs.with_weights(w_q=2.0 * weights.w_q, w_k=0.5 * weights.w_k))


@judges("projections.values", space=replace(_SELF, mask="sometimes"), operations=_SINGLE_HEAD)
def doubled_values(trial: Trial[SingleHeadInputs]) -> Verdict:
    """Doubling the value projection doubles the output."""
    inputs = trial.inputs
    doubled = inputs.with_weights(w_v=2.0 * inputs.weights.w_v)
    return trial.equal(inputs, doubled, of_second=_halved)


def _halved(result: np.ndarray) -> np.ndarray:
    return 0.5 * result if result.dtype.kind == "f" else result


@judges("mask.masked_content", space=_OF_KEYS, operations=_SINGLE_HEAD)
def masked_content(trial: Trial[SingleHeadInputs]) -> Verdict:
    """Other content at a position that no other sees changes no other position; its own query reads it."""
    inputs = trial.inputs
    hidden = inputs.unseen
    changed = inputs.with_tokens_replaced(hidden, 5.0)
    results, judged = (trial.output(inputs), trial.output(changed)), trial.expected(inputs).judged & ~hidden[..., None]
    return trial.within(*results, lambda bound: bound(inputs) + bound(changed), judged, may_be_nan=False)


def _select(trial: Trial[SingleHeadInputs], axis: str, index: np.ndarray) -> Selection:
    return lambda result: np.take(result, index, axis=trial.inputs.result_axis(axis))


@judges("batch.independence", space=replace(_SELF, mask="sometimes", least_batch=2), operations=_SINGLE_HEAD)
def batch_independence(trial: Trial[SingleHeadInputs]) -> Verdict:
    """The last sample gives the same result alone as in its batch."""
    last = np.array([trial.inputs.batch - 1])
    return trial.equal(trial.inputs.take_samples(last), trial.inputs, of_second=_select(trial, "batch", last))


@judges("batch.permutation", space=replace(_SELF, mask="sometimes", least_batch=2), operations=_SINGLE_HEAD)
def batch_permutation(trial: Trial[SingleHeadInputs]) -> Verdict:
    """Samples in another order give results in that order."""
    order = trial.permutation(trial.inputs.batch)
    return trial.equal(trial.inputs, trial.inputs.take_samples(order), of_first=_select(trial, "batch", order))


@judges("tokens.permutation", space=replace(_SELF, mask="sometimes", least_queries=2), operations=_SINGLE_HEAD)
def token_order(trial: Trial[SingleHeadInputs]) -> Verdict:
    """Tokens in another order, with their mask, give results in that order."""
    order = trial.permutation(trial.inputs.query_length)
    return trial.equal(trial.inputs, trial.inputs.take_tokens(order), of_first=_select(trial, "queries", order))
