"""The gradients of attention under masks, the causal flag and reorderings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.laws.causality import with_padding as forward_with_padding
from veriformer.conformance_tests.operations.attention_backward.inputs import (
    BACKWARD,
    AttentionBackwardInputs,
    LogitsBackwardInputs,
)
from veriformer.conformance_tests.operations.gradients import agrees_at_empty_rows, equal
from veriformer.conformance_tests.operations.parts import agrees, worst

_ANY = AttentionSpace(mask="sometimes", causal="sometimes", scale="sometimes")
_CAUSAL = AttentionSpace(causal="always", least_queries=2, least_keys=2)
_PADDED = AttentionSpace(mask="always", mask_kinds=("padding", "left_padding"), least_keys=2)


@judges("mask.masked_keys", space=_PADDED, operations=BACKWARD)
def masked_keys(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """Keys that no query may see have no gradient, and neither have their values."""
    inputs = trial.inputs
    return no_gradient(trial, inputs, inputs.unseen_keys(trial.conventions))


@judges("causal.no_future_gradient", space=_CAUSAL, operations=BACKWARD)
def no_future_gradient(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """A loss on the first half of the outputs gives no gradient to keys and values that only later queries see."""
    inputs = trial.inputs
    cut = inputs.query_length // 2
    grad_output = inputs.grad_output.copy()
    grad_output[:, :, cut:] = 0.0
    later = inputs.not_shown(inputs.visible(trial.conventions)[:, :, :cut])
    return no_gradient(trial, replace(inputs, grad_output=grad_output), later)


def no_gradient(trial: Trial[LogitsBackwardInputs], inputs: LogitsBackwardInputs, where: Array) -> Verdict:
    """Judge whether the gradients of keys, and of values, at `where` (B, key/value heads, S) are zero."""
    expected, output = trial.expected(inputs), trial.output(inputs)

    def judge(name: str) -> Verdict:
        part = inputs.part(name)
        received = part(output)
        judged, wanted = part(expected.judged) & where[..., None], np.where(where[..., None], 0.0, received)
        return trial.within(wanted, received, lambda bound: part(bound(inputs)), judged, name, may_be_nan=False)

    return worst(judge(name) for name in inputs.parts if name != "grad_query")


@judges("mask.masked_content", space=_PADDED, operations=BACKWARD)
def masked_content(trial: Trial[AttentionBackwardInputs]) -> Verdict:
    """Other content in keys that no query may see changes no gradient."""
    hidden = trial.inputs.unseen_keys(trial.conventions)
    return equal(trial, trial.inputs, trial.inputs.with_keys_replaced(hidden, 5.0))


@judges(
    "mask.broadcast",
    space=AttentionSpace(
        mask="always",
        mask_shapes=("shared_by_heads", "shared_by_batch", "lengths", "keys_only"),
        least_batch=2,
        least_heads=2,
        least_keys=2,
    ),
    operations=BACKWARD,
)
def broadcast(trial: Trial[AttentionBackwardInputs]) -> Verdict:
    """The expanded mask gives the same gradients as the short one."""
    inputs = trial.inputs
    shape = (inputs.batch, inputs.heads, inputs.query_length, inputs.key_length)
    return equal(trial, replace(inputs, mask=np.broadcast_to(present(inputs.mask), shape).copy()), inputs)


@judges(
    "mask.empty_row",
    space=AttentionSpace(mask="always", mask_kinds=("empty_rows",), mask_shapes=("full", "lengths", "shared_by_heads")),
    operations=BACKWARD,
)
def empty_row(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """A query without a visible key has no gradient and adds to none, where its output is zero."""
    inputs = trial.inputs
    return agrees_at_empty_rows(trial, inputs, inputs.empty_rows(trial.conventions))


@judges("causal.empty_row", space=replace(_CAUSAL, least_keys=1), operations=BACKWARD)
def causal_empty_row(trial: Trial[AttentionBackwardInputs]) -> Verdict:
    """A query in front of the first key, where the flag is aligned to the last, has no gradient and adds to none."""
    inputs = trial.inputs
    # Fewer keys than queries, so that there is such a row; aligned to the first key the flag empties none.
    inputs = inputs.take_keys(np.arange(min(inputs.key_length, inputs.query_length - 1)))
    return agrees_at_empty_rows(trial, inputs, inputs.empty_rows(trial.conventions))


@judges(
    "causal.with_padding",
    space=replace(_CAUSAL, mask="always", mask_kinds=("random", "padding")),
    operations=BACKWARD,
)
def with_padding(trial: Trial[AttentionBackwardInputs]) -> Verdict:
    """The gradients are those over the keys that flag and mask both leave visible, as the convention says."""
    if trial.conventions["causal_with_mask"] == "rejects":
        return forward_with_padding(trial)
    return agrees(trial, trial.inputs)


@judges("causal.explicit_mask", space=_CAUSAL, operations=BACKWARD)
def explicit_mask(trial: Trial[AttentionBackwardInputs]) -> Verdict:
    """The explicit triangular mask gives the same gradients as the flag."""
    inputs = trial.inputs
    alignment = trial.conventions["causal_alignment"]
    triangle = reference.causal_mask(inputs.query_length, inputs.key_length, causal_alignment=alignment)
    mask = np.broadcast_to(triangle, (inputs.batch, inputs.heads, *triangle.shape)).copy()
    return equal(trial, replace(inputs, is_causal=False, mask=mask), inputs)


@judges("batch.independence", space=replace(_ANY, least_batch=2), operations=BACKWARD)
def batch_independence(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """The last sample has the same gradients in a batch with other content."""
    last = np.s_[-1:]
    return equal(
        trial, trial.inputs, _others_changed(trial.inputs, last), lambda _, part: part[last], lambda _, part: part[last]
    )


@judges("heads.independence", space=replace(_ANY, least_heads=2), operations=BACKWARD)
def head_independence(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """The last head, or group of heads, has the same gradients among heads with other content."""
    of_keys, of_queries = np.s_[:, -1:], np.s_[:, -trial.inputs.group_size :]

    def last(name: str, part: Array) -> Array:
        return part[of_queries if name == "grad_query" else of_keys]

    return equal(trial, trial.inputs, _others_changed(trial.inputs, of_keys, of_queries), last, last)


def _others_changed(inputs: LogitsBackwardInputs, kept: Any, kept_of_queries: Any = None) -> LogitsBackwardInputs:
    """Return inputs with other contents everywhere but at `kept`; the shapes stay, so nothing is compiled.

    Of what belongs to query heads other parts may be kept, `kept_of_queries`.
    """

    def changed(array: Array, kept: Any) -> Array:
        other = 2.0 - array
        other[kept] = array[kept]
        return round_to_dtype(other, inputs.dtype)

    of_queries = kept if kept_of_queries is None else kept_of_queries
    query, grad_output = changed(inputs.query, of_queries), changed(inputs.grad_output, of_queries)
    key, value = changed(inputs.key, kept), None if inputs.value is None else changed(inputs.value, kept)
    return replace(inputs, query=query, key=key, value=value, grad_output=grad_output)


@judges("queries.permutation", space=AttentionSpace(mask="sometimes", least_queries=2), operations=BACKWARD)
def query_permutation(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """Queries in another order have their gradients in that order; those of keys and values stay."""
    order = trial.permutation(trial.inputs.query_length)

    def reordered(name: str, part: Array) -> Array:
        return part[:, :, order] if name == "grad_query" else part

    return equal(trial, trial.inputs, trial.inputs.take_queries(order), of_first=reordered)


@judges("keys.permutation", space=AttentionSpace(mask="sometimes", least_keys=2), operations=BACKWARD)
def key_permutation(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """Keys and values in another order have their gradients in that order; those of the queries stay."""
    order = trial.permutation(trial.inputs.key_length)

    def reordered(name: str, part: Array) -> Array:
        return part if name == "grad_query" else part[:, :, order]

    return equal(trial, trial.inputs, trial.inputs.take_keys(order), of_first=reordered)
