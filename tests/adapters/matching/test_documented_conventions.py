"""A convention that documentation states is what a function is held to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from veriformer import check
from veriformer.adapters.matching.documented import conventions

pytest.importorskip("torch")

CAUSAL = '''
import torch

def attention(q, k, v, causal=False):
    """{documented}"""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        length, keys = scores.shape[-2:]
        visible = torch.ones(length, keys, dtype=bool).tril({diagonal})
        scores = scores.masked_fill(~visible, -torch.inf)
    return scores.softmax(-1) @ v
'''
LAST, FIRST = "keys - length", "0"


def named(found: Any) -> set[tuple[str, ...]]:
    report = check(found, tier="quick")
    return {suspect.mistakes for one in report.diagnoses for suspect in one.suspects[:1]}


@pytest.mark.parametrize(
    "documented",
    (
        "Causal: query i sees keys j <= i + (S - L).",
        "With causal=True the last query is aligned with the last key.",
        "If causal, the queries are taken to be the last positions of the keys.",
        "Causal. The queries are the *last* positions of the keys.",
        "Causal: query i stands at position i + S - L.",
        "causal: the mask is aligned to the bottom right corner.",
        "With causal the queries are the most recent of the keys in the cache.",
        "``causal=True`` lines the mask up with the last row and column of the logits.",
    ),
)
def test_an_alignment_that_is_stated(loaded: Callable[..., Any], documented: str) -> None:
    assert check(loaded(CAUSAL.format(documented=documented, diagonal=LAST)), tier="quick").exit_status == 0
    wrong = loaded(CAUSAL.format(documented=documented, diagonal=FIRST))
    assert named(wrong) == {("causal_top_left_vs_bottom_right",)}


@pytest.mark.parametrize("diagonal", (LAST, FIRST))
@pytest.mark.parametrize(
    "documented",
    (
        "Causal attention.",
        "causal is top-left aligned, not bottom-right as in FlashAttention.",
        "Causal: a query at position i attends to the first i + 1 keys, or is limited to the last ones.",
    ),
)
def test_what_is_not_plain_is_inferred(loaded: Callable[..., Any], documented: str, diagonal: str) -> None:
    assert check(loaded(CAUSAL.format(documented=documented, diagonal=diagonal)), tier="quick").exit_status == 0


@pytest.mark.parametrize(("gain", "status"), (("(1 + weight)", 0), ("weight", 1)))
def test_a_gain_that_is_stored_as_an_offset(loaded: Callable[..., Any], gain: str, status: int) -> None:
    text = f'''
import torch

def rms_norm(x, weight, eps=1e-6):
    """Weights are stored as an offset from one."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * {gain}
'''
    assert check(loaded(text), tier="quick", diagnosis=False).exit_status == status


def test_what_a_file_declares_for_all_operations_counts_more(loaded: Callable[..., Any]) -> None:
    text = CAUSAL.format(documented="Causal: the mask is aligned to the bottom right corner.", diagonal=FIRST)
    declared = 'conventions = {"causal_alignment": "top_left"}\n' + text
    assert check(loaded(declared), tier="quick").exit_status == 0


def _plain(query: object, key: object, value: object) -> None:
    """Attend to keys <= i + a - b."""


def test_documentation_that_speaks_of_no_causal_mask_states_none() -> None:
    assert conventions({"scaled_dot_product_attention": _plain}) == {}


MASKED = '''
import numpy as np

def attention(q, k, v, mask=None):
    """{documented}"""
    logits = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    largest = logits.max(-1, keepdims=True)
    shares = np.exp(logits - np.where(np.isfinite(largest), largest, 0.0))
    total = shares.sum(-1, keepdims=True)
    return shares / {total} @ v
'''


@pytest.mark.parametrize(
    ("documented", "total", "status"),
    (
        ("Fully masked rows return zeros.", "np.maximum(total, 1e-30)", 0),
        ("Fully masked rows return zeros.", "total", 1),
        ("Rows without any visible key give zeros", "total", 1),
        ("The output is zero for queries that see no key.", "total", 1),
        ("Fully masked rows give NaN, and not zeros", "total", 0),
        ("Attention with a mask.", "total", 0),
    ),
)
def test_what_a_row_without_keys_gives(loaded: Callable[..., Any], documented: str, total: str, status: int) -> None:
    report = check(loaded(MASKED.format(documented=documented, total=total)), tier="quick", laws="attention.mask.*")
    assert report.exit_status == status


EXACT = "Exact GELU, x * Phi(x) with the error function."


@pytest.mark.parametrize(
    ("name", "documented", "form", "mistakes"),
    (
        ("gelu", EXACT, "none", set()),
        ("gelu", EXACT, "tanh", {("gelu_tanh_vs_erf",)}),
        ("gelu", "GELU by the tanh approximation.", "tanh", set()),
        ("gelu", "GELU by the tanh approximation.", "none", {("gelu_tanh_vs_erf",)}),
        ("gelu_exact", "", "tanh", {("gelu_tanh_vs_erf",)}),
        # It speaks of both, or of none.
        ("gelu", "The tanh approximation of the exact GELU.", "tanh", set()),
        ("gelu", "Gaussian error linear unit.", "tanh", set()),
    ),
)
def test_a_form_of_gelu_that_is_stated(
    loaded: Callable[..., Any], name: str, documented: str, form: str, mistakes: set[tuple[str, ...]]
) -> None:
    text = f"import torch\n\ndef {name}(x):\n    '''{documented}'''\n"
    text += f"    return torch.nn.functional.gelu(x, approximate='{form}')\n"
    found = named(loaded(text))
    assert len(found) == len(mistakes)
    assert all(any("gelu" in one for one in each) for each in found)
