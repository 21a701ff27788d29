"""What an attention returns beside its output: weights are judged by laws of their own, other results are named."""

from __future__ import annotations

import pytest
from veriformer.conformance_tests import check

SOFTMAX = """
import numpy as np


def _softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)
"""
ATTENTION = (
    SOFTMAX
    + """

def attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = np.where(mask, scores, -1e30)
    weights = _softmax(scores)
    return {returned}
"""
)
BLHD = (
    SOFTMAX
    + """

def attention(query, key, value):
    scores = np.einsum("bqhd,bkhd->bhqk", query, key) / query.shape[-1] ** 0.5
    p_attn = _softmax(scores)
    return np.einsum("bhqk,bkhd->bqhd", p_attn, value), {returned}
"""
)
OTHERS = "what else it returns is not judged"


@pytest.mark.parametrize(
    "text",
    [
        ATTENTION.format(returned="weights @ v, weights"),
        ATTENTION.format(returned='{"weights": weights, "output": weights @ v}'),
        BLHD.format(returned="p_attn"),
    ],
)
def test_weights_that_are_returned_are_judged(loaded, text):
    found = loaded(text)
    assert found.taken_as == {
        "attention": "scaled_dot_product_attention",
        "what attention returns besides": "attention_weights",
    }
    assert not any("fit none" in notice or OTHERS in notice for notice in found.notices)
    report = check(found, tier="quick")
    assert report.verdict == "conforms"
    assert sum(one.law.operation.name == "attention_weights" and one.status == "passed" for one in report.results) > 10


@pytest.mark.parametrize("wrong", ["_softmax(scores, -2)", "np.exp(scores)", "weights * (weights > 0.2)"])
def test_wrong_weights_beside_a_right_output_break_laws(loaded, wrong):
    text = ATTENTION.format(returned="output, weights").replace(
        "    return output", f"    output = weights @ v\n    weights = {wrong}\n    return output"
    )
    report = check(loaded(text), tier="quick")
    broken = {one.law.operation.name for one in report.results if one.status == "failed"}
    assert broken == {"attention_weights"}


@pytest.mark.parametrize("other", ["scores", "np.log(np.exp(scores).sum(-1))", "weights.sum(-1)"])
def test_another_result_is_named_and_held_against_nobody(loaded, other):
    found = loaded(ATTENTION.format(returned=f"weights @ v, {other}"))
    assert found.taken_as == {"attention": "scaled_dot_product_attention"}
    assert OTHERS in found.notices[0]
    assert check(found, tier="quick").verdict == "conforms"


def test_logits_that_are_called_attention_are_no_wrong_weights(loaded):
    text = ATTENTION.format(returned="weights @ v, attn").replace("    weights =", "    attn = scores\n    weights =")
    assert loaded(text).taken_as == {"attention": "scaled_dot_product_attention"}
