"""The GPU benchmark: one sentence where there is no GPU, and its table, shown with kernels of the CPU."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu.py"


def has_gpu() -> bool:
    torch = pytest.importorskip("torch")
    return bool(torch.cuda.is_available())


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def test_without_a_gpu_there_is_one_sentence() -> None:
    if has_gpu():
        pytest.skip("there is a GPU here")
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("there is no GPU here: torch.cuda.is_available() is false")
    assert len(done.stderr.splitlines()) == 1


def test_the_table_counts_what_held(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    right = script["torch_kernel"]("math", "cpu", "bfloat16")
    notes, violated = script["measure"](
        [("right", "bfloat16", right)], laws=("attention.mask.value", "attention_backward.mask.value"), tier="quick"
    )
    header, _, (name, dtype, laws, hold, violations, errors, untried, *_) = rows(capsys.readouterr().out)
    assert header == list(script["HEADER"])
    assert (name, dtype, laws, hold) == ("right", "bfloat16", "2", "2")
    assert (violations, errors, untried) == ("0", "0", "0")
    assert (notes, violated) == ([], False)


def test_the_functions_of_a_library_has_gradients(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    functions = script["functions"]("torch", "cpu", "float32")
    laws = ("gelu.value", "gelu_backward.grad_x", "attention.mask.value")
    notes, violated = script["measure"]([("functions", "float32", functions)], laws=laws, tier="quick")
    assert rows(capsys.readouterr().out)[-1][2:6] == ["2", "2", "0", "0"]
    assert (notes, violated) == ([], False)


def test_heads_filled_up_with_zeros_give_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    padded = script["torch_kernel"]("math", "cpu", "float32")
    padded.scaled_dot_product_attention = script["_padded"](padded.scaled_dot_product_attention)
    laws = ("attention.explicit_scale", "attention.scale", "attention_backward.grad_query")
    notes, violated = script["measure"]([("padded", "float32", padded)], laws=laws, tier="quick")
    assert rows(capsys.readouterr().out)[-1][2:6] == ["3", "3", "0", "0"]
    assert (notes, violated) == ([], False)


def test_a_kernel_that_is_wrong_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    wrong = script["torch_kernel"]("math", "cpu", "float16")
    attention = wrong.scaled_dot_product_attention
    wrong.scaled_dot_product_attention = lambda query, key, value, *, scale=None: attention(query, key, 2 * value)
    notes, violated = script["measure"]([("wrong", "float16", wrong)], laws=("attention.single_key",), tier="quick")
    assert rows(capsys.readouterr().out)[-1][3:6] == ["0", "1", "0"]
    assert violated
    assert notes[0].startswith("- wrong, float16: `attention.single_key` failed: ")
