"""One word of a name says which operation a function is near to; it is judged as that one only where it is right."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.errors import LoadError
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.matching.names import suggested_by_a_word

Loaded = Callable[..., Implementation]
ROPE = """
import torch


def _rotate(x):
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


def {name}(q, k, base=10000.0):
    length, width = q.shape[-2:]
    speeds = base ** (-torch.arange(0, width, 2) / width)
    angles = torch.cat([torch.arange(length)[:, None] * speeds] * 2, -1)
    return q * angles.cos() + _rotate(q) * angles.sin(), {keys}
"""
TURNED = "k * angles.cos() + _rotate(k) * angles.sin()"


def test_a_rotation_of_queries_alone_that_says_so_is_near_to_a_rotation(loaded: Loaded) -> None:
    with pytest.raises(LoadError, match="apply_rope_to_queries: nearest are rotary_embedding"):
        loaded(ROPE.format(name="apply_rope_to_queries", keys="k"))


def test_a_right_rotation_of_another_name_is_judged(loaded: Loaded) -> None:
    (notice,) = loaded(ROPE.format(name="apply_rope_to_queries_and_keys", keys=TURNED)).notices
    assert "is judged as rotary_embedding" in notice and "both of its results" in notice


def test_a_rotation_that_leaves_its_keys_is_wrong_where_its_name_says_no_more(loaded: Loaded) -> None:
    (notice,) = loaded(ROPE.format(name="apply_rope", keys="k")).notices
    assert "is judged as rotary_embedding" in notice and "its results fit none" in notice


@pytest.mark.parametrize(
    ("name", "operations"),
    (("apply_rope_to_queries", ["rotary_embedding"]), ("gelu_then_scale", ["gelu"]), ("warmup_step", [])),
)
def test_a_word_of_a_name_is_an_operation(name: str, operations: list[str]) -> None:
    assert suggested_by_a_word(name) == operations
