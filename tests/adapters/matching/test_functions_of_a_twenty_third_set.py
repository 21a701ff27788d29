"""What functions of strangers, written in December 2026, were taken for wrongly: the twenty-third set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

ONE_VECTOR = "(E,), one vector"


def softmax(z: Any) -> Any:
    raised = np.exp(z - np.max(z))
    return raised / raised.sum()


def softmax_of_rows(z: Any) -> Any:
    raised = np.exp(z - np.max(z))
    return raised / raised.sum(axis=-1, keepdims=True)


# It was "softmax over the wrong axis, certain", where the same in torch or JAX was judged on vectors.
def test_a_softmax_of_numpy_that_names_no_axis_is_one_of_a_vector() -> None:
    found = load({"softmax": softmax})
    assert any(ONE_VECTOR in one for one in found.notices)
    assert check(found, tier="quick").verdict == "conforms"


def test_one_that_names_an_axis_is_judged_on_any_array() -> None:
    assert not any(ONE_VECTOR in one for one in load({"softmax": softmax_of_rows}).notices)


TABLE_OF_BOTH = '''
import torch


def rope_cache(length, head_dim, base=10000.0):
    rates = base ** (-{factor} * torch.arange(head_dim // 2, dtype=torch.float32) / head_dim)
    angles = torch.arange(length)[:, None] * rates[None, :]
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


def apply_rope(x, cache):
    """x: (B, L, H, D)"""
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    cos, sin = cache[: x.shape[1], None, :, 0], cache[: x.shape[1], None, :, 1]
    first = pairs[..., 0] * cos - pairs[..., 1] * sin
    return torch.stack((first, pairs[..., 1] * cos + pairs[..., 0] * sin), dim=-1).flatten(-2).type_as(x)
'''


# As gpt-fast and torchtune keep their tables.
@pytest.mark.parametrize(("factor", "verdict"), [("2", "conforms"), ("1", "violates")])
def test_a_table_of_cosines_and_sines_side_by_side_is_read(tmp_path: Path, factor: str, verdict: str) -> None:
    file = tmp_path / "turned.py"
    file.write_text(TABLE_OF_BOTH.replace("{factor}", factor))
    found = load(str(file))
    assert found.taken_as == {"apply_rope": "rotary_embedding"}
    assert any("table (L, D/2, 2) of cosines and sines; made by `rope_cache`" in one for one in found.notices)
    assert check(found, tier="quick", laws=("rotary.value", "rotary.base")).verdict == verdict


def test_a_table_that_the_file_does_not_make_is_drawn() -> None:
    def apply_rope(x: Any, cache: Any) -> Any:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2).contiguous())
        return torch.view_as_real(pairs * torch.view_as_complex(cache.contiguous())).flatten(-2).type_as(x)

    found = load({"apply_rope": apply_rope})
    assert any("table (L, D/2, 2) of cosines and sines" in one for one in found.notices)
    assert check(found, tier="quick", laws=("rotary.*",)).verdict == "conforms"


LOSS_OF_TARGETS = '''
import torch


def lm_loss(logits, targets, mask):
    """Mean next-token cross entropy over the tokens with mask == 1.

    logits (B, L, V), targets (B, L), mask (B, L).
    """
    losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return (losses * mask).sum() / {denominator}
'''


# It was "labels_not_shifted, certain": targets stand at the positions of their logits, as training loops have them.
@pytest.mark.parametrize(("denominator", "verdict"), [("mask.sum()", "conforms"), ("mask.numel()", "violates")])
def test_targets_that_the_caller_has_shifted(tmp_path: Path, denominator: str, verdict: str) -> None:
    file = tmp_path / "loss_of_targets.py"
    file.write_text(LOSS_OF_TARGETS.replace("{denominator}", denominator))
    report = check(load(str(file)), tier="quick")
    assert report.taken_as == {"lm_loss": "cross_entropy"}
    assert report.verdict == verdict


def rms(x: Any) -> Any:
    return x.norm() / x.numel() ** 0.5


# It was an RMS norm of one vector without a gain, which its product with one made a vector.
def test_a_root_mean_square_is_no_norm() -> None:
    found = load({"rms": rms, "softmax": lambda x: x.softmax(-1)})
    assert "rms_norm" not in found.operations
    assert "rms" in found.not_judged


SLOPES = '''
"""ALiBi (Press et al.){limits}."""
import torch


def get_slopes(n_heads):
    return 2.0 ** (-8.0 / n_heads * torch.arange(1, n_heads + 1))
'''


@pytest.mark.parametrize(
    ("limits", "verdict"), [(", for a power-of-two number of heads", "conforms"), ("", "violates")]
)
def test_a_file_may_say_that_heads_are_a_power_of_two(tmp_path: Path, limits: str, verdict: str) -> None:
    file = tmp_path / "slopes.py"
    file.write_text(SLOPES.replace("{limits}", limits).lstrip())
    assert check(load(str(file)), tier="quick").verdict == verdict


def self_attention(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    return torch.softmax(query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5, dim=-1) @ value


def self_attention_without_scale(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    return torch.softmax(x @ w_q @ (x @ w_k).transpose(-2, -1), dim=-1) @ (x @ w_v)


# The function that lessons begin with. "nothing is w_o and num_heads", was all that was said of it.
def test_attention_of_three_matrices_is_one_of_one_head() -> None:
    right = load({"self_attention": self_attention})
    assert right.taken_as == {"self_attention": "single_head_attention"}
    assert check(right, tier="quick").verdict == "conforms"
    wrong = check(load({"self_attention": self_attention_without_scale}), tier="quick")
    assert [one.suspects[0].mistakes for one in wrong.diagnoses] == [("scale_missing",)]
