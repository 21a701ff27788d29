"""What stands in people's files beside plain functions: imports, lambdas, functions of fewer arguments, classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from veriformer.adapters.asked import Asked
from veriformer.adapters.errors import LoadError
from veriformer.adapters.implementation import Implementation
from veriformer.cli import main
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
IMPORTED = """
from torch.nn.functional import softmax


def attention(q, k, v):
    return softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, dim=-1) @ v
"""


def own(found: Implementation) -> set[str]:
    return {name for name in found.operations if not name.endswith("_backward")}


def test_what_a_file_imports_from_a_framework_is_not_its_own(loaded: Loaded) -> None:
    assert own(loaded(IMPORTED)) == {"scaled_dot_product_attention"}
    assert own(loaded("from torch.nn.functional import gelu\n")) == {"gelu"}


OTHERS = """
import functools

import torch


def _attend(q, k, v, scale):
    return torch.softmax(q @ k.mT * scale, -1) @ v


attention = functools.partial(_attend, scale=1.0)
rms_norm = lambda x, gain: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * gain
"""


def test_lambdas_and_functions_of_fewer_arguments_are_judged(loaded: Loaded) -> None:
    found = loaded(OTHERS)
    assert own(found) == {"scaled_dot_product_attention", "rms_norm"}
    report = check(found, tier="quick")
    named = {name for diagnosis in report.diagnoses for one in diagnosis.suspects for name in one.mistakes}
    assert named == {"scale_missing"}


def test_a_function_that_cannot_be_what_it_is_said_to_be_is_an_error(loaded: Loaded) -> None:
    text = "def mix(a, b, c):\n    return (a * b).sum(-1) + c\n\n\ndef softmax(x, axis=-1):\n    return x\n"
    with pytest.raises(LoadError, match="mix cannot be judged as scaled_dot_product_attention"):
        loaded(text, Asked(pairs=(("mix", "scaled_dot_product_attention"),)))


CLASS = '''
import torch
from torch import nn


class ScaledDotProductAttention(nn.Module):
    """Attention without projections."""

    def __init__(self, temperature, attn_dropout=0.1):
        super().__init__()
        self.temperature, self.dropout = temperature, nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        scores = torch.matmul(q / self.temperature, k.transpose(2, 3))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = self.dropout(scores.softmax(dim=-1))
        return torch.matmul(weights, v), weights
'''


@pytest.mark.parametrize(
    ("right", "wrong", "mistake"),
    (("", "", ""), ("q / self.temperature", "q", "scale_missing"), ("dim=-1", "dim=-2", "softmax_wrong_axis")),
)
def test_a_class_of_attention_without_weights_is_a_function(
    loaded: Loaded, right: str, wrong: str, mistake: str
) -> None:
    found = loaded(CLASS.replace(right, wrong) if right else CLASS)
    assert "scaled_dot_product_attention" in found.operations
    report = check(found, tier="quick")
    named = {name for diagnosis in report.diagnoses for one in diagnosis.suspects for name in one.mistakes}
    assert named == ({mistake} if mistake else set())
    assert report.exit_status == int(bool(mistake))


OBJECT = """
import numpy as np


class Attention:
    def __call__(self, q, k, v):
        logits = q @ np.swapaxes(k, -1, -2)
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True) @ v


attention = Attention()
"""


def test_a_class_whose_object_is_judged_is_not_judged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OBJECT, encoding="utf-8")
    with pytest.raises(SystemExit) as end:
        main(["check", str(path), "--tier", "quick"])
    report = capsys.readouterr().out
    assert end.value.code == 1
    assert report.count("Diagnosis") == 1
    assert "`scale_missing`" in report
