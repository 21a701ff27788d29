"""Multi-head attention whose queries, keys and values have one matrix, in the orders and layouts that people use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from veriformer import check

NUMPY = """
import numpy as np

def _shares(logits):
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)

def multi_head_attention(x, qkv_weight, proj, num_heads):
    samples, length, width = x.shape
    q, k, v = {split}
    logits = np.einsum("blhd,bshd->bhls", q, k) / np.sqrt(width // num_heads)
    return np.einsum("bhls,bshd->blhd", _shares(logits), {values}).reshape(samples, length, -1) @ proj
"""
SPLITS = {
    "": "np.moveaxis((x @ qkv_weight).reshape(samples, length, 3, num_heads, -1), 2, 0)",
    "packed as heads, parts, numbers": "np.moveaxis((x @ qkv_weight).reshape(samples, length, num_heads, 3, -1), 3, 0)",
    "packed as heads, numbers, parts": "np.moveaxis((x @ qkv_weight).reshape(samples, length, num_heads, -1, 3), 4, 0)",
}
TORCH = """
import torch
import torch.nn.functional as F

def multi_head_attention_forward(query, key, value, num_heads, in_proj_weight, in_proj_bias, out_proj_weight,
                                 out_proj_bias, key_padding_mask=None, attn_mask=None):
    '''query (L, N, E), key and value (S, N, E); True in a mask is hidden.'''
    length, samples, width = query.shape
    parts = zip((query, key, value), in_proj_weight.chunk(3), in_proj_bias.chunk(3))
    q, k, v = (F.linear(*one).view(-1, samples * num_heads, width // num_heads).transpose(0, 1) for one in parts)
    logits = q @ k.mT * {scale}
    out = logits.softmax(-1) @ v
    return F.linear(out.transpose(0, 1).reshape(length, samples, width), out_proj_weight, out_proj_bias)
"""


def statuses(found: Any) -> set[str]:
    return {one.status for one in check(found, diagnosis=False, tier="quick").results} - {"not_declared"}


@pytest.mark.parametrize("order", SPLITS)
def test_each_order_is_found_and_holds(loaded: Callable[..., Any], order: str) -> None:
    found = loaded(NUMPY.format(split=SPLITS[order], values="v"))
    assert found.taken_as == {"multi_head_attention": "multi_head_attention"}
    said = " ".join(found.notices)
    assert order in said
    assert ("packed" in said) == bool(order)
    assert statuses(found) == {"passed"}


@pytest.mark.parametrize("order", SPLITS)
def test_keys_in_place_of_values_are_wrong_in_the_usual_layout(loaded: Callable[..., Any], order: str) -> None:
    found = loaded(NUMPY.format(split=SPLITS[order], values="k"))
    assert "(L, B, E)" not in " ".join(found.notices)
    assert "failed" in statuses(found)


def test_sequences_first_with_biases_that_must_be_given(loaded: Callable[..., Any]) -> None:
    pytest.importorskip("torch")
    found = loaded(TORCH.format(scale="(width // num_heads) ** -0.5"))
    assert found.notices[0] == (
        "multi_head_attention_forward is judged as multi_head_attention: (L, B, E); matrices (out, in); "
        "`key_padding_mask` has no effect, since the code does not read it; `attn_mask` not given"
    )
    assert statuses(found) == {"passed"}


@pytest.mark.parametrize(
    ("scale", "name"), (("1.0", "scale_missing"), ("width ** -0.5", "scale_by_d_model_not_head_dim"))
)
def test_what_is_wrong_in_it_is_named(loaded: Callable[..., Any], scale: str, name: str) -> None:
    pytest.importorskip("torch")
    report = check(loaded(TORCH.format(scale=scale)), tier="quick")
    assert [suspect.mistakes for one in report.diagnoses for suspect in one.suspects] == [(name,)]
