"""A file is checked as it is: every public function is judged, or named with the reason."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

FILE = """
import torch
from torch import nn

def softmax(x):
    return torch.softmax(x, dim=-1)

def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return softmax(scores) @ v

def split(x, heads):
    return x.reshape(*x.shape[:-1], heads, -1)

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
"""


def said(out):
    return " ".join(out.split())


def test_no_function_is_passed_over_in_silence(tmp_path, run):
    (tmp_path / "mine.py").write_text(FILE)
    status, out, _ = run("check", str(tmp_path / "mine.py"), "--tier", "quick")
    assert status == 1
    assert "attention is judged as scaled_dot_product_attention" in said(out)
    assert "scale_missing" in said(out) and "not judged: split" in said(out)
    assert "RMSNorm is judged as rms_norm" in said(out)


def test_what_a_function_is_can_be_said(tmp_path, run):
    (tmp_path / "mine.py").write_text(FILE.replace("def attention", "def mixing"))
    status, out, _ = run(
        "check", str(tmp_path / "mine.py"), "--tier", "quick", "--as", "mixing=scaled_dot_product_attention"
    )
    assert status == 1
    assert "mixing is judged as scaled_dot_product_attention" in said(out)
    assert run("check", "numpy", "--as", "attnetion")[0] == 2


def test_a_builder_is_judged_as_what_it_builds(tmp_path, run):
    builder = "\ndef gelu(width=3):\n    return RMSNorm(width)\n"
    (tmp_path / "mine.py").write_text(FILE.replace("softmax(scores)", "torch.softmax(scores, -1)") + builder)
    _, out, _ = run("check", str(tmp_path / "mine.py"), "--tier", "quick", "--law", "softmax.*")
    assert "mine.py:gelu holds: 1 of 1 intermediate" in said(out) and "rms_norm, eps 1e-06" in said(out)
    assert "gelu.shape" not in out and "gelu.signature" not in out


def test_one_function_of_a_file(tmp_path, run):
    (tmp_path / "mine.py").write_text(FILE)
    status, out, _ = run("check", f"{tmp_path / 'mine.py'}:attention", "--tier", "quick")
    assert status == 1 and "scale_missing" in said(out)


BUILT = """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.norm, self.head = nn.Embedding(30, 16), RMSNorm(), nn.Linear(16, 30)
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, tokens):
        x = self.tokens(tokens)
        x = x + self.down(torch.relu(self.up(self.norm(x))))
        return self.head(self.norm(x))

def build():
    return Model()
"""


@pytest.mark.parametrize("also", ("", "\n\ndef softmax(x):\n    return torch.softmax(x, dim=-1)\n"))
def test_a_model_that_is_built_is_checked_whatever_its_class_is_called(tmp_path, run, also):
    (tmp_path / "mine.py").write_text(BUILT + also)
    _, out, _ = run("check", str(tmp_path / "mine.py"), "--tier", "quick")
    assert "mine.py:build holds" in said(out)
    assert ("softmax" in out) == bool(also)
    assert "not judged: build" not in said(out)


def test_a_function_called_model_is_none_of_a_known_input(tmp_path, run):
    text = "\n\ndef model(parameters, tokens):\n    return parameters[tokens]\n"
    (tmp_path / "mine.py").write_text(FILE + text)
    _, out, _ = run("check", str(tmp_path / "mine.py"), "--tier", "quick")
    assert "not judged: model (a file has no model_inputs" in said(out)
    assert "model 0 laws" not in said(out)


MIXTURE = """
import torch
from torch import nn

class Network(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return self.down(torch.relu(self.up(shifted(x))))

def shifted(x):
    return x

def penalty_of_loads(router_logits, num_experts, top_k=2):
    return num_experts * router_logits.softmax(-1).mean(0).square().sum()

def main(arguments):
    print(arguments)
"""


def test_functions_beside_classes_are_named(tmp_path, run):
    (tmp_path / "mine.py").write_text(MIXTURE)
    status, out, _ = run("check", str(tmp_path / "mine.py"))
    assert (status, "mine.py:Network holds" in out) == (0, True)
    assert "not judged: penalty_of_loads" in said(out)
    assert "not judged: main" not in said(out) and "not judged: shifted" not in said(out)


BESIDE = """
import torch


class Cache:
    def __init__(self):
        self.rows = []

    def append(self, row):
        self.rows.append(row)


class SelfAttention(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads = n_heads
        self.qkv, self.out = torch.nn.Linear(d_model, 3 * d_model), torch.nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, E = x.shape
        q, k, v = (one.view(B, L, self.heads, -1).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        return self.out(scaled(q, k, v).transpose(1, 2).reshape(B, L, E))


def scaled(*heads):
    return torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)


def keep_largest(logits, k):
    return logits.masked_fill(logits < logits.topk(k).values[..., -1:], float("-inf"))


def sample(logits, k):
    return torch.multinomial(keep_largest(logits, k).softmax(-1), 1)
"""


def test_what_is_beside_a_class_is_named_with_what_it_calls(tmp_path, run):
    (tmp_path / "mine.py").write_text(BESIDE)
    status, out, _ = run("check", str(tmp_path / "mine.py"))
    assert status == 0 and "SelfAttention holds" in said(out)
    # The class is judged with the function that it calls.
    assert "not judged: sample, Cache, keep_largest (no operation fits" in said(out)
