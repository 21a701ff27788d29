"""A comparison ends with the difference that matters most: the mistake, its place, the smallest case, what is next."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import Comparison, compare_implementations
from veriformer.conformance_tests.reports.presenting import text

Array = np.ndarray
NORM = """
import torch

def layer_norm(x, gamma, beta, eps=1e-5):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    return (x - mean) / torch.sqrt(variance + eps) * gamma + beta
"""


def silu(x: Array) -> Array:
    return np.asarray(x / (1 + np.exp(-x)), x.dtype)


def silu_backward(x: Array, grad_output: Array) -> Array:
    gate = 1 / (1 + np.exp(-x))
    return np.asarray(grad_output * gate * (1 + x * (1 - gate)), x.dtype)


def silu_of_twice(x: Array) -> Array:
    return np.asarray(x / (1 + np.exp(-2 * x)), x.dtype)


def another_backward(x: Array, grad_output: Array) -> Array:
    return np.asarray(grad_output * np.tanh(x), x.dtype)


def last(page: str) -> str:
    """Return the last lines of a page, in one line."""
    return " ".join(page.partition("What matters most: ")[2].split())


def compared(first: Any, second: Any) -> Comparison:
    return compare_implementations(first, second, tier="quick")


@pytest.mark.parametrize("wrong_first", [False, True])
def test_the_forward_pass_comes_before_the_backward_pass(wrong_first: bool) -> None:
    right = SimpleNamespace(silu=silu, silu_backward=silu_backward)
    wrong = SimpleNamespace(silu=silu_of_twice, silu_backward=another_backward)
    found = compared(wrong, right) if wrong_first else compared(right, wrong)
    name = "the first" if wrong_first else "the second"
    assert {one.operation.name for one in found.operations if one.differences} == {"silu", "silu_backward"}
    page = text(found, 100)
    said = last(page)
    assert said.startswith(f"silu: {name} is wrong mistake ")
    assert f"where {_place(silu_of_twice)} smallest case " in said
    assert said.index("smallest case") < said.index("0 operations agree")
    assert f"What {name} must change" in page


def test_a_gradient_that_follows_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("right.py").write_text(NORM)
    Path("wrong.py").write_text(NORM.replace("* gamma", "* gamma ** 1.01"))
    page = text(compared("wrong.py", "right.py"), 100)
    assert "✗ layer_norm_backward: derived from layer_norm, cause below" in page
    assert page.count("smallest case") == 2
    said = last(page)
    assert said.startswith("layer_norm: wrong.py is wrong mistake no known mistake where wrong.py:4 smallest case ")
    assert "next veriformer check wrong.py --operation layer_norm" in said


def test_what_is_said_of_one_alone_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = "import numpy as np\ndef swish(x):\n    return (x / (1 + np.exp(-x))).astype(x.dtype)\n"
    Path("a.py").write_text(source)
    Path("b.py").write_text(source.replace("swish", "silu"))
    notices = compared("a.py", "b.py").notices
    assert [one for one in notices if "swish is judged" in one] == ["a.py: swish is judged as silu"]


def test_two_that_agree_end_with_the_counts() -> None:
    right = SimpleNamespace(silu=silu)
    assert "What matters most" not in text(compared(right, right), 100)


def _place(function: Any) -> str:
    file = Path(__file__)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    return f"{shown}:{inspect.getsourcelines(function)[1]}"
