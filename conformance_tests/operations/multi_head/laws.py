"""How heads share keys, and how they are combined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import present
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs

_MULTI_HEAD = ("multi_head_attention",)


@judges("repeated_heads", space=AttentionSpace(mask="sometimes", causal="sometimes", grouped=True))
def repeated_heads(trial: Trial[AttentionInputs]) -> Verdict:
    """Repeating each key/value head for every query head that reads it gives the same result."""
    inputs = trial.inputs
    repeated = replace(
        inputs,
        key=np.repeat(inputs.key, inputs.group_size, axis=1),
        value=np.repeat(present(inputs.value), inputs.group_size, axis=1),
    )
    return trial.equal(repeated, inputs)


@judges("one_head_each", space=AttentionSpace(mask="sometimes", causal="sometimes", kv_heads="all", least_heads=2))
@judges("shared_head", space=AttentionSpace(mask="sometimes", causal="sometimes", kv_heads="one"))
@judges("biases", space=AttentionSpace(mask="sometimes", least_heads=2, also_causal=True))
@judges("one_head", space=AttentionSpace(heads=1, mask="sometimes", causal="sometimes"))
def agrees_with_formula(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges(
    "sum_of_heads",
    space=AttentionSpace(mask="sometimes", least_heads=2, least_queries=2, also_causal=True, ungrouped=True),
)
def sum_of_heads(trial: Trial[MultiHeadInputs]) -> Verdict:
    """Each head's attention, projected by its own rows of W_O, sums to the result.

    The heads are computed by the reference from their own projections, without concatenating anything.
    """
    inputs = trial.inputs
    weights, heads = inputs.weights, inputs.num_heads
    total = np.zeros(inputs.result_shape) + (0.0 if weights.b_o is None else weights.b_o)
    for head in range(heads):
        query = inputs.x @ _part(weights.w_q, head, heads) + _part_or_zero(weights.b_q, head, heads)
        key = inputs.context @ _part(weights.w_k, head, heads) + _part_or_zero(weights.b_k, head, heads)
        value = inputs.context @ _part(weights.w_v, head, heads) + _part_or_zero(weights.b_v, head, heads)
        mask = inputs.visible(trial.conventions)[:, head : head + 1]
        attended = reference.scaled_dot_product_attention(query[:, None], key[:, None], value[:, None], mask=mask)
        total += attended[:, 0] @ np.split(weights.w_o, heads, axis=0)[head]
    expected = trial.expected(inputs)
    return compare(total, trial.output(inputs), expected.allowed, expected.judged)


def _part(matrix: np.ndarray, head: int, heads: int) -> np.ndarray:
    return np.split(matrix, heads, axis=-1)[head]


def _part_or_zero(bias: np.ndarray | None, head: int, heads: int) -> np.ndarray | float:
    return 0.0 if bias is None else _part(bias, head, heads)


@judges(
    "heads.permutation",
    space=AttentionSpace(mask="sometimes", least_heads=2, also_causal=True, ungrouped=True),
    operations=_MULTI_HEAD,
)
def head_order(trial: Trial[MultiHeadInputs]) -> Verdict:
    """Heads in another order, weights and all, give the same."""
    order = trial.permutation(trial.inputs.num_heads)
    return trial.equal(trial.inputs, trial.inputs.take_heads(order))


@judges("grouped_heads", space=AttentionSpace(mask="sometimes", grouped=True, also_causal=True))
def grouped_heads(trial: Trial[MultiHeadInputs]) -> Verdict:
    """Key and value projections written out for every query head give the same."""
    inputs = trial.inputs
    times = inputs.num_heads // inputs.num_kv_heads
    written_out = inputs.weights.repeated(inputs.num_kv_heads, times)
    repeated = replace(inputs, weights=written_out, num_kv_heads=inputs.num_heads, name_kv_heads=False)
    return trial.equal(repeated, inputs)
