"""Attention with fewer heads of keys is judged as that by its name, or where its source divides heads by heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from veriformer.conformance_tests import check

pytest.importorskip("torch")

REPEATED, TILED = "repeat_interleave({times}, dim=1)", "repeat(1, {times}, 1, 1)"
DIVIDING = """
import torch
import math


def {name}(q, k, v):
    n_heads, n_kv_heads = q.shape[1], k.shape[1]
    n_rep = n_heads // n_kv_heads
    k, v = k.{repeated}, v.{repeated}
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(scores, dim=-1) @ v
"""
# Nothing but its name says that keys have fewer heads.
NAMED = """
import torch


def {name}(q, k, v):
    times = q.size(1) // k.size(1)
    k, v = k.{repeated}, v.{repeated}
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
"""
TOLD = """
import torch


def attention(module, query, key, value, scaling):
    heads, kv_heads = query.shape[1], key.shape[1]
    key = key.repeat_interleave(module.num_key_value_groups, 1)
    value = value.repeat_interleave(module.num_key_value_groups, 1)
    assert query.shape[-1] // 1 == key.shape[-1]
    return (query @ key.transpose(2, 3) * scaling).softmax(-1) @ value
"""


def written(text: str, name: str, repeated: str) -> str:
    times = "n_rep" if text is DIVIDING else "times"
    return text.format(name=name, repeated=repeated.format(times=times))


@pytest.mark.parametrize("name", ("gqa_attention", "mqa_attn", "group_query_attention", "gqa_attn", "group_attention"))
def test_names_say_that_heads_are_grouped(loaded: Callable[..., Any], name: str) -> None:
    found = loaded(written(NAMED, name, REPEATED))
    assert found.taken_as == {name: "grouped_query_attention"}


BOTH = {
    "attention": "scaled_dot_product_attention",
    "attention with fewer heads of keys": "grouped_query_attention",
}


def test_what_takes_fewer_heads_of_keys_is_judged_as_both(loaded: Callable[..., Any]) -> None:
    assert loaded(written(NAMED, "attention", REPEATED)).taken_as == BOTH
    assert loaded(NAMED.format(name="attention", repeated="clone()")).taken_as == {"attention": BOTH["attention"]}


@pytest.mark.parametrize("name", ("attention", "attend", "scaled_dot_product"))
def test_a_source_that_divides_heads_by_those_of_keys_says_so_too(loaded: Callable[..., Any], name: str) -> None:
    assert loaded(written(DIVIDING, name, REPEATED)).taken_as == {name: "grouped_query_attention"}


def test_what_its_module_tells_the_quotient_is_plain_attention(loaded: Callable[..., Any]) -> None:
    assert loaded(TOLD).taken_as == BOTH
    # It is the module alone that makes the difference.
    divided = TOLD.replace("module, ", "").replace("module.num_key_value_groups", "heads // kv_heads")
    assert loaded(divided).taken_as == {"attention": "grouped_query_attention"}


@pytest.mark.parametrize(("name", "text"), (("gqa_attention", NAMED), ("attention", DIVIDING), ("attention", NAMED)))
@pytest.mark.parametrize(("repeated", "verdict"), ((REPEATED, "conforms"), (TILED, "violates")))
def test_heads_that_are_tiled_are_caught_and_repeated_ones_hold(
    loaded: Callable[..., Any], name: str, text: str, repeated: str, verdict: str
) -> None:
    found = loaded(written(text, name, repeated))
    report = check(found, laws="grouped_query.repeated_heads", tier="quick")
    assert report.verdict == verdict
    assert {one.law.id for one in report.results if one.status != "not_declared"} == {"grouped_query.repeated_heads"}
