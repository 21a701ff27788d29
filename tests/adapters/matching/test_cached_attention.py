"""Steps with a cache are judged as the causal attention that they are together."""

from __future__ import annotations

import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

BUFFERS = """
import numpy as np


class KVCache:
    def __init__(self, batch_size, n_heads, max_seq_len, head_dim):
        self.k = np.zeros((batch_size, max_seq_len, n_heads, head_dim))
        self.v = np.zeros((batch_size, max_seq_len, n_heads, head_dim))
        self.n = 0

    def update(self, k, v):
        self.k[:, self.n : self.n + k.shape[1]] = k
        self.v[:, self.n : self.n + k.shape[1]] = v
        self.n += k.shape[1]
        return self.k[:, : self.n], self.v[:, : self.n]


def decode_step(q, k_new, v_new, cache):
    k, v = cache.update(k_new, v_new)
    s = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    w = w / w.sum(-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", w, v)
"""
JOINED = """
import torch


def attend(q, k, v, past=None):
    if past is not None:
        k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
    t, s = q.shape[2], k.shape[2]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores.masked_fill(torch.ones(t, s).tril(s - t) == 0, float("-inf"))
    return scores.softmax(-1) @ v, (k, v)
"""
PLACED = """
import jax
import jax.numpy as jnp
from jax import lax


def step_attention(q, k, v, k_cache, v_cache, pos):
    k_cache = lax.dynamic_update_slice(k_cache, k, (0, 0, pos, 0))
    v_cache = lax.dynamic_update_slice(v_cache, v, (0, 0, pos, 0))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k_cache) / jnp.sqrt(q.shape[-1])
    seen = jnp.arange(k_cache.shape[2])[None] <= pos + jnp.arange(q.shape[2])[:, None]
    return jax.nn.softmax(jnp.where(seen, scores, -1e30), -1) @ v_cache, k_cache, v_cache
"""


def matched(folder, text):
    (folder / "mine.py").write_text(text)
    return load(str(folder / "mine.py"))


def test_a_right_one_holds_and_a_wrong_one_does_not(tmp_path):
    assert matched(tmp_path, BUFFERS).taken_as == {"decode_step": "scaled_dot_product_attention"}
    assert check(str(tmp_path / "mine.py"), tier="quick").verdict == "conforms"
    matched(tmp_path, BUFFERS.replace("self.n += k.shape[1]", "self.n = k.shape[1]"))
    assert check(str(tmp_path / "mine.py"), tier="quick").verdict == "violates"


def test_what_is_joined_is_taken_with_its_mask(tmp_path):
    pytest.importorskip("torch")
    assert matched(tmp_path, JOINED).taken_as == {"attend": "scaled_dot_product_attention"}
    assert check(str(tmp_path / "mine.py"), tier="quick").verdict == "conforms"
    matched(tmp_path, JOINED.replace("tril(s - t)", "tril()"))
    assert check(str(tmp_path / "mine.py"), tier="quick").verdict == "violates"


@pytest.mark.parametrize(("right", "wrong"), [("<= pos +", "<= pos +"), ("<= pos +", "< pos +")])
def test_buffers_with_a_position_are_filled(tmp_path, right, wrong):
    pytest.importorskip("jax")
    found = matched(tmp_path, PLACED.replace(right, wrong))
    assert found.taken_as == {"step_attention": "scaled_dot_product_attention"}
    sentence = " ".join(found.notices)
    assert ("its results fit none" in sentence) == (right != wrong)


def test_steps_that_do_more_are_not_accused(tmp_path):
    pytest.importorskip("torch")
    turned = JOINED.replace("    if past", "    q, k = rotary(q), rotary(k)\n    if past")
    text = f"{turned}\n\ndef rotary(x):\n    return x.roll(1, -1) * 0.5\n"
    report_text = f"{text}\n\ndef softmax(x):\n    return x.softmax(-1)\n"
    found = matched(tmp_path, report_text)
    assert "attend" not in found.taken_as
    assert "attend" in found.not_judged


ONE_POSITION = """
from typing import NamedTuple

import torch


class Cache(NamedTuple):
    k: torch.Tensor
    v: torch.Tensor
    pos: int


def empty_cache(batch, max_len, kv_heads, head_dim):
    return Cache(*(torch.zeros(batch, max_len, kv_heads, head_dim) for _ in range(2)), 0)


def decode_step(cache, q, k, v, *, logit_cap=None, bias=None):
    keys, values = cache.k.clone(), cache.v.clone()
    keys[:, cache.pos], values[:, cache.pos] = k, v
    logits = torch.einsum("bgrd,btgd->bgrt", q.unflatten(1, (k.shape[1], -1)), keys) / q.shape[-1] ** 0.5
    if logit_cap is not None:
        logits = {factor}torch.tanh(logits / logit_cap)
    logits = logits.masked_fill(torch.arange(keys.shape[1]) > cache.pos, -torch.inf)
    out = torch.einsum("bgrt,btgd->bgrd", logits.softmax(-1), values).flatten(1, 2)
    return Cache(keys, values, cache.pos + 1), out
"""


def test_steps_of_one_position_that_return_their_cache_first(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(ONE_POSITION.format(factor="logit_cap * "))
    right = check(str(path), operations=("grouped_query_attention",), tier="quick")
    assert right.exit_status == 0
    assert any("(B, H, D); one position at a time" in one and "`bias` not given" in one for one in right.notices)
    path.write_text(ONE_POSITION.format(factor=""))
    wrong = check(str(path), operations=("grouped_query_attention",), tier="quick")
    assert [one.law.id for one in wrong.results if one.status == "failed"] == ["grouped_query.softcap.value"]
