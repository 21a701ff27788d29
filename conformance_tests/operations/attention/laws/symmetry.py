"""Symmetry and independence of attention."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Selection, Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs

_PER_HEAD = ("scaled_dot_product_attention", "grouped_query_attention", "attention_weights")


def _select(trial: Trial[AttentionInputs | MultiHeadInputs], axis: str, index: np.ndarray) -> Selection:
    return lambda result: np.take(result, index, axis=trial.inputs.result_axis(axis))


@judges("batch.independence", space=AttentionSpace(mask="sometimes", causal="sometimes", least_batch=2))
def batch_independence(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The last sample gives the same result alone as in its batch."""
    last = np.array([trial.inputs.batch - 1])
    return trial.equal(trial.inputs.take_samples(last), trial.inputs, of_second=_select(trial, "batch", last))


@judges("batch.permutation", space=AttentionSpace(mask="sometimes", causal="sometimes", least_batch=2))
def batch_permutation(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Samples in another order give results in that order."""
    order = trial.permutation(trial.inputs.batch)
    return trial.equal(trial.inputs, trial.inputs.take_samples(order), of_first=_select(trial, "batch", order))


@judges(
    "heads.independence",
    space=AttentionSpace(mask="sometimes", causal="sometimes", least_heads=2),
    operations=_PER_HEAD,
)
def head_independence(trial: Trial[AttentionInputs]) -> Verdict:
    """The last group of heads gives the same result alone as with the others."""
    last = np.arange(trial.inputs.heads - trial.inputs.group_size, trial.inputs.heads)
    return trial.equal(trial.inputs.take_heads(last), trial.inputs, of_second=_select(trial, "heads", last))


@judges(
    "heads.permutation",
    space=AttentionSpace(mask="sometimes", causal="sometimes", least_heads=2),
    operations=_PER_HEAD,
)
def head_permutation(trial: Trial[AttentionInputs]) -> Verdict:
    """Groups of heads in another order give results in that order."""
    group = trial.inputs.group_size
    groups = trial.permutation(trial.inputs.heads // group)
    order = (groups[:, None] * group + np.arange(group)).reshape(-1)
    return trial.equal(trial.inputs, trial.inputs.take_heads(order), of_first=_select(trial, "heads", order))


@judges("queries.permutation", space=AttentionSpace(mask="sometimes", bias="sometimes", least_queries=2))
def query_permutation(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Queries in another order give outputs in that order."""
    order = trial.permutation(trial.inputs.query_length)
    return trial.equal(trial.inputs, trial.inputs.take_queries(order), of_first=_select(trial, "queries", order))


@judges("keys.permutation", space=AttentionSpace(mask="sometimes", bias="sometimes", least_keys=2))
def key_permutation(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Keys and values in another order give the same output; weights follow their keys."""
    order = trial.permutation(trial.inputs.key_length)
    reordered = trial.inputs.take_keys(order)
    if trial.inputs.operation == "attention_weights":
        return trial.equal(trial.inputs, reordered, of_first=_select(trial, "keys", order))
    return trial.equal(trial.inputs, reordered)


@judges(
    "tokens.permutation",
    space=AttentionSpace(mask="sometimes", bias="sometimes", lengths="equal", least_queries=2, least_keys=2),
)
def token_permutation(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Tokens of a self-attention in another order give outputs in that order."""
    order = trial.permutation(trial.inputs.query_length)

    def reordered(result: np.ndarray) -> np.ndarray:
        rows = np.take(result, order, axis=trial.inputs.result_axis("queries"))
        return rows[..., order] if trial.inputs.operation == "attention_weights" else rows

    return trial.equal(trial.inputs, trial.inputs.take_tokens(order), of_first=reordered)
