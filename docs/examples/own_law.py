"""A law of your own: no output of attention is longer than the longest value that it averages."""

import numpy as np
from hypothesis import given
from veriformer.conformance_tests.strategies import attention_inputs


def attention(query, key, value, mask=None, is_causal=False):
    logits = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    visible = np.ones(logits.shape, dtype=bool) if mask is None else np.broadcast_to(mask, logits.shape)
    if is_causal:
        visible = visible & np.tri(*logits.shape[-2:], dtype=bool)
    logits = np.where(visible, logits, -np.inf)
    shifted = logits - np.max(logits, axis=-1, keepdims=True, initial=-1e9)
    weights = np.where(visible, np.exp(shifted), 0)
    total = weights.sum(axis=-1, keepdims=True)
    return (weights / np.where(total == 0, 1, total)).astype(query.dtype) @ value


@given(attention_inputs(mask="sometimes", is_causal="sometimes"))
def test_no_output_is_longer_than_the_longest_value(arguments):
    lengths = np.linalg.norm(attention(**arguments), axis=-1)
    longest = np.linalg.norm(arguments["value"], axis=-1).max()
    assert lengths.max() <= longest * (1 + 1e-5)


@given(attention_inputs(mask="always", empty_rows=True))
def test_the_result_is_the_formula_s(arguments):
    expected = arguments.expected(empty_row="zeros")
    error = np.abs(attention(**arguments) - expected.value)
    assert (error <= expected.allowed).all()
