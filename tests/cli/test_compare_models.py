"""`veriformer compare` on two whole models: processes, exit statuses, options, inputs, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from veriformer.cli import main

pytestmark = pytest.mark.long

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "my_gpt.py"
MORE = """

def build():
    torch.manual_seed(0)
    return GPT()


def transposed():
    model = build()
    with torch.no_grad():
        weight = model.h[1].attn.c_proj.weight
        weight.copy_(weight.T.clone())
    return model


def broken():
    raise RuntimeError("no weights here")
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    pytest.importorskip("torch")
    (tmp_path / "model.py").write_text(EXAMPLE.read_text() + MORE)
    monkeypatch.chdir(tmp_path)

    def result(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["compare", *words])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return result


def test_the_same_model_agrees(run: Run) -> None:
    status, printed, _ = run("model.py:build", "model.py:build")
    assert status == 0
    assert printed.startswith("model.py:build agrees with model.py:build: their results are the same")


def test_a_model_that_differs(run: Run, tmp_path: Path) -> None:
    status, printed, _ = run("model.py:build", "model.py:transposed", "--json", "out.json")
    assert status == 1
    assert "model.py:transposed differs from model.py:build in" in printed
    assert "must change:" in printed
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["schema"] == 1
    assert written["verdict"] == "differ"
    (one,) = written["departures"]
    assert one["cause"]["name"] == "transposed"
    assert one["file_b"].endswith("model.py") and one["line_b"] > 0
    assert [weight["relation"] for weight in written["weights"]].count("transposed") == 1


def test_two_files_are_their_models(run: Run, tmp_path: Path) -> None:
    text = EXAMPLE.read_text()
    (tmp_path / "wrong.py").write_text(text)
    (tmp_path / "right.py").write_text(text.replace("math.sqrt(width)", "math.sqrt(width // self.heads)"))
    status, printed, _ = run("right.py", "wrong.py")
    assert status == 1
    assert " ".join(printed.split()).startswith("wrong.py:GPT differs from right.py:GPT in h.[0–2].attn")
    assert "To do as right.py:GPT does, wrong.py:GPT must change:" in printed
    status, printed, _ = run("wrong.py", "right.py")
    assert status == 1
    assert " ".join(printed.split()).startswith("wrong.py:GPT departs, and right.py:GPT does not, in h.[0–2].attn")
    assert "wrong.py:GPT must change:" in printed and "right.py:GPT must change" not in printed


def test_a_file_of_several_models_names_them(run: Run, tmp_path: Path) -> None:
    more = "\n\nclass Other(nn.Module):\n    def forward(self, x):\n        return x\n"
    (tmp_path / "two.py").write_text(EXAMPLE.read_text() + more)
    status, _, error = run("two.py", "model.py")
    assert status == 2
    assert "it is not clear which are meant: two.py has Other, GPT; model.py has build; name them:" in error
    commands = [line.strip() for line in error.rstrip().splitlines()[1:]]
    assert commands == [f"veriformer compare two.py:{name} model.py:build" for name in ("Other", "GPT")]


def test_the_model_that_both_files_have_is_compared_and_the_others_are_named(run: Run, tmp_path: Path) -> None:
    more = "\n\nclass Other(nn.Module):\n    def forward(self, x):\n        return x\n"
    (tmp_path / "two.py").write_text(EXAMPLE.read_text() + more)
    (tmp_path / "one.py").write_text(EXAMPLE.read_text())
    status, printed, _ = run("two.py", "one.py")
    assert status == 0
    said = " ".join(printed.split())
    assert said.startswith("one.py:GPT agrees with two.py:GPT")
    assert "two.py: GPT is compared, since both files have it, and not Other" in said
    assert "veriformer compare two.py:Other one.py:GPT does that" in said


def test_a_function_that_builds_is_compared_and_the_others_are_named(run: Run, tmp_path: Path) -> None:
    more = (
        "\n\ndef build():\n    return GPT()\n\n\nclass Other(nn.Module):\n    def forward(self, x):\n        return x\n"
    )
    (tmp_path / "two.py").write_text(EXAMPLE.read_text() + more)
    (tmp_path / "one.py").write_text(EXAMPLE.read_text())
    status, printed, _ = run("one.py", "two.py")
    assert status == 0
    assert "two.py: build is compared, since a function of this name builds the model, and not Other: " in " ".join(
        printed.split()
    )


def test_inputs_of_a_file(run: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "tokens.npz", np.arange(6).reshape(1, 6))
    status, printed, _ = run("model.py:build", "model.py:build", "--inputs", "tokens.npz")
    assert status == 0
    assert "tokens (1, 6)" in printed
    (tmp_path / "text.npz").write_text("nothing")
    status, _, error = run("model.py:build", "model.py:build", "--inputs", "text.npz")
    assert status == 2
    assert "cannot be read" in error


def test_what_cannot_be_compared(run: Run) -> None:
    status, _, error = run("model.py:build", "model.py:broken")
    assert status == 2
    assert "no weights here" in error
    status, _, error = run("model.py:build", "numpy")
    assert status == 2
    assert "compare a model with a model" in error
    status, _, error = run("model.py:build", "model.py:build", "--tier", "quick")
    assert status == 2
    assert "--tier" in error
    status, _, error = run("numpy", "numpy", "--inputs", "tokens.npz")
    assert status == 2


@pytest.mark.parametrize("first", ["first.trace", "first.safetensors"])
def test_a_record_of_another_place(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], first: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["capture", "model.py:build", "-o", first])
    assert not ended.value.code
    assert f"{first}: model.py:build, torch float64" in capsys.readouterr().out
    status, printed, _ = run(first, "model.py:transposed")
    assert status == 1
    assert "transpose" in printed
    status, printed, _ = run("model.py:build", first)
    assert status == 0
    np.savez(tmp_path / "tokens.npz", np.arange(6).reshape(1, 6))
    status, _, error = run(first, "model.py:build", "--inputs", "tokens.npz")
    assert status == 2
    assert "on other inputs" in error
    status, _, error = run("absent.trace", "model.py:build")
    assert status == 2
    assert "there is no file absent.trace" in error
    status, _, error = run(first, first)
    assert status == 0
