"""Functions of TorchScript are judged by their schema; those that were traced are named with the reason."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from veriformer.adapters.errors import LoadError
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.adapters.matching.scripted import TRACED
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
RIGHT = """
from typing import Optional

import torch
from torch import Tensor


@torch.jit.script
def attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    scores = q @ k.transpose(-1, -2) / (q.size(-1) ** 0.5)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v
"""
WRONG = RIGHT.replace(" / (q.size(-1) ** 0.5)", "")
SOFTMAX = """
import torch


@torch.jit.script
def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)
"""
LAWS = ["attention.scale", "attention.mask.no_share"]


@pytest.mark.parametrize(("text", "failed"), ((RIGHT, 0), (WRONG, 1)))
def test_a_scripted_function_of_any_name_is_judged(loaded: Loaded, text: str, failed: int) -> None:
    found = loaded(text)
    (notice,) = found.notices
    assert "attention is judged as scaled_dot_product_attention: (B, H, L, D)" in notice
    counts = check(found, laws=LAWS, tier="quick").counts
    assert (counts["failed"], counts["errors"], counts["not_declared"]) == (failed, 0, 0)


def test_a_scripted_function_is_judged_where_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(WRONG)
    found = load(f"{file}:attention")
    assert check(found, laws="attention.scale", tier="quick").counts["failed"] == 1


def test_a_scripted_function_of_an_operations_name_has_the_parameters_of_its_schema(loaded: Loaded) -> None:
    found = loaded(SOFTMAX)
    assert check(found, laws=["softmax.signature", "softmax.value"], tier="quick").counts["passed"] == 2
    assert list(inspect.signature(found.operations["softmax"]).parameters) == ["x"]


TRACES = """

def _attention(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v


recorded = torch.jit.trace(_attention, [torch.ones(1, 2, 3, 4)] * 3)
"""


def test_a_traced_function_is_named_with_the_reason(loaded: Loaded) -> None:
    assert loaded(RIGHT + TRACES).not_judged == {"recorded": TRACED}
    with pytest.raises(LoadError, match=r"softmax: torch\.jit\.trace recorded it"):
        loaded("import torch\n" + TRACES.replace("recorded", "softmax"))


def test_a_function_that_numpy_vectorizes_is_named(loaded: Loaded) -> None:
    text = "\nimport numpy as np\nramp = np.vectorize(lambda x: max(x, 0.0))\n"
    assert loaded(RIGHT + text).not_judged == {"ramp": "no operation takes what it takes"}
