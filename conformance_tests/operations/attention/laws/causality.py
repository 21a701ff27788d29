"""The causal flag: no look ahead, and nothing else changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer import reference
from veriformer.adapters.errors import OperationRaised
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.subject import CallRefused
from veriformer.conformance_tests.core.trial import NotOffered, Trial
from veriformer.conformance_tests.core.verdict import Verdict, words
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs

_CAUSAL = AttentionSpace(causal="always", least_queries=2, least_keys=2)


@judges("causal.unequal_lengths", space=replace(_CAUSAL, lengths="unequal"))
def unequal_lengths(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The result is that of a softmax over the keys that the flag leaves visible."""
    return trial.agrees()


@judges("causal.with_padding", space=replace(_CAUSAL, mask="always", mask_kinds=("random", "padding")))
def with_padding(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The result is that of a softmax over the keys that flag and mask both leave visible, as the convention says.

    The law is not offered by an implementation that refuses the pair, but it must really refuse.
    """
    if trial.conventions["causal_with_mask"] != "rejects":
        return trial.agrees()
    inputs = replace(trial.inputs, mask=np.ones((trial.inputs.query_length, trial.inputs.key_length), dtype=bool))
    try:
        trial.output(inputs)
        if isinstance(inputs, AttentionInputs) and inputs.value is not None:
            # Some refuse in one of two kernels only, which the widths choose.
            trial.output(replace(inputs, value=np.repeat(inputs.value, 2, axis=-1)))
    except OperationRaised as refusal:
        raise NotOffered(f"{inputs.operation} refuses a mask together with the causal flag") from refusal
    return words("a refusal, by the convention causal_with_mask: rejects", "a result", holds=False)


@judges("causal.no_future_leak", space=replace(_CAUSAL, lengths="equal"))
def no_future_leak(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Other content in the later half of the sequence does not affect the queries of the first half."""
    inputs = trial.inputs
    cut = inputs.query_length // 2
    axis = inputs.result_axis("queries")
    later = np.zeros_like(inputs.unseen_keys(trial.conventions))
    later[..., cut:] = True
    changed = inputs.with_keys_replaced(later, 5.0)

    def earlier(result: np.ndarray) -> np.ndarray:
        return np.take(result, np.arange(cut), axis=axis)

    return trial.equal(inputs, changed, of_first=earlier, of_second=earlier)


@judges("causal.own_position", space=replace(_CAUSAL, lengths="equal"))
def own_position(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The first query sees only the first key: its result is the same as alone with it."""
    inputs = trial.inputs
    first = np.array([0])
    alone = replace(inputs.take_queries(first).take_keys(first), is_causal=False)
    axis, weights = inputs.result_axis("queries"), inputs.operation == "attention_weights"

    def first_query(result: np.ndarray) -> np.ndarray:
        row = np.take(result, first, axis=axis)
        return row[..., :1] if weights else row

    return trial.equal(alone, inputs, of_second=first_query)


@judges("causal.prefix", space=replace(_CAUSAL, lengths="keys_suffice"))
def prefix(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The sequence without its last token gives the same results for the remaining queries; the last one sees all.

    Queries and keys lose one each, so that under either alignment query i still sees the same keys. Together the two
    determine what each query sees.
    """
    inputs = trial.inputs
    queries, keys = inputs.query_length - 1, inputs.key_length - 1
    if queries == keys:
        short = inputs.take_tokens(np.arange(keys))
    else:
        short = inputs.take_queries(np.arange(queries)).take_keys(np.arange(keys))
    axis, weights = inputs.result_axis("queries"), inputs.operation == "attention_weights"

    def remaining(result: np.ndarray) -> np.ndarray:
        rows = np.take(result, np.arange(queries), axis=axis)
        return rows[..., :keys] if weights else rows

    unchanged = trial.equal(short, inputs, of_second=remaining)
    sees_all = queries == keys or trial.conventions["causal_alignment"] == "bottom_right"
    if not unchanged.holds or not sees_all:
        return unchanged
    # These calls are right: a counterexample shows those that are not.
    trial.subject.calls.clear()

    def of_last(result: np.ndarray) -> np.ndarray:
        return np.take(result, np.array([queries]), axis=axis)

    try:
        return trial.equal(replace(inputs, is_causal=False), inputs, of_first=of_last, of_second=of_last)
    except CallRefused:
        # What is always causal has no call without the flag, and the laws of values see what it shows.
        return unchanged


@judges("causal.explicit_mask", space=_CAUSAL)
def explicit_mask(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The explicit triangular mask gives the same result as the flag."""
    inputs = trial.inputs
    alignment = trial.conventions["causal_alignment"]
    mask = reference.causal_mask(inputs.query_length, inputs.key_length, causal_alignment=alignment)
    return trial.equal(replace(inputs, is_causal=False, mask=mask), inputs)
