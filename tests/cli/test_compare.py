"""`veriformer compare`: exit statuses, what is shown, files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from veriformer.cli import main

ORIGINAL = """
import numpy as np

def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)

def causal_mask(query_length, key_length):
    return np.tril(np.ones((query_length, key_length), bool))
"""
PORT = ORIGINAL.replace("bool))", "bool), key_length - query_length)")
WRONG = ORIGINAL.replace("powers.sum(axis=-1, keepdims=True)", "powers.sum()")
OTHER = "def silu(x):\n    return x\n"
# Wider rows never come back.
HANGING = ORIGINAL.replace("    powers =", "    while x.shape[-1] > 2:\n        pass\n    powers =", 1)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    for name, text in (
        ("original", ORIGINAL),
        ("port", PORT),
        ("wrong", WRONG),
        ("other", OTHER),
        ("hanging", HANGING),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(("compare", "--tier", "quick", *arguments))
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return command


def test_two_that_agree_end_with_zero(run: Run) -> None:
    status, out, err = run("original.py", "original.py")
    assert (status, err) == (0, "")
    assert out.splitlines()[-1].startswith("2 operations agree, 0 differ by conventions, 0 by a mistake")


def test_another_convention_is_named_with_what_to_change(run: Run) -> None:
    status, out, _ = run("original.py", "port.py")
    assert status == 1
    assert "differ by causal_alignment" in out
    assert "What port.py must change to match original.py" in out
    assert "pass an explicit mask in place of the causal flag where L ≠ S: port.py aligns" in out
    assert out.splitlines()[-1].startswith("1 operation agrees, 1 differ by conventions, 0 by a mistake")


def test_a_mistake_is_shown_beside_what_is_expected(run: Run) -> None:
    status, out, _ = run("original.py", "wrong.py", "--operation", "softmax")
    assert status == 1
    assert "✗ softmax   wrong.py is wrong" in out
    assert "side with original.py: wrong.py does not return what is expected" in out
    labels = [line.split()[0] for line in out.splitlines() if line.startswith("    ")]
    assert labels.index("expected") < labels.index("original.py") < labels.index("wrong.py")


@pytest.mark.parametrize(("first", "second"), [("wrong.py", "original.py"), ("original.py", "wrong.py")])
def test_the_file_at_fault_is_named_in_both_orders(run: Run, first: str, second: str) -> None:
    status, out, _ = run(first, second, "--operation", "softmax")
    assert status == 1
    assert "✗ softmax   wrong.py is wrong" in out
    assert "original.py is wrong" not in out and "original.py must change" not in out


def test_what_is_not_compared_is_named(run: Run, tmp_path: Path) -> None:
    others = "\ndef helper(x, y):\n    return x\n\nclass Block:\n    def forward(self, x):\n        return x\n"
    (tmp_path / "more.py").write_text(ORIGINAL + others)
    _, out, _ = run("more.py", "more.py", "--operation", "softmax")
    said = " ".join(out.split())
    assert "more.py: not compared: helper (veriformer check more.py says why)" in said
    assert "more.py: not compared: Block" in said and "veriformer compare more.py:Block more.py:Block" in said


def test_a_second_function_of_an_operation_is_named_with_the_command(run: Run, tmp_path: Path) -> None:
    second = "\ndef my_softmax(x):\n    return softmax(x)\n"
    (tmp_path / "more.py").write_text(ORIGINAL + second)
    for both in (("more.py", "original.py"), ("original.py", "more.py")):
        _, out, _ = run(*both, "--operation", "softmax")
        command = " ".join(one.replace("more.py", "more.py:my_softmax") for one in both)
        told = f"more.py: my_softmax is not compared, since another function was taken: veriformer compare {command}"
        assert told in " ".join(out.split())


@pytest.mark.parametrize("both", [("numpy", "wrong.py:softmax"), ("wrong.py:softmax", "original.py")])
def test_a_function_of_a_file_is_compared_with_a_whole_implementation(run: Run, both: tuple[str, str]) -> None:
    status, out, _ = run(*both)
    assert status == 1
    assert "✗ softmax   wrong.py:softmax is wrong" in out


def test_the_right_result_is_what_is_expected(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nothing.py").write_text("def softmax(x):\n    return x * float('nan')\n")
    for both in (("nothing.py", "original.py"), ("original.py", "nothing.py")):
        _, out, _ = run(*both, "--operation", "softmax")
        assert "NaN where a finite number is expected" in out


def test_one_that_hangs_is_not_judged(run: Run) -> None:
    for arguments in (("original.py", "hanging.py"), ("hanging.py", "original.py")):
        status, out, err = run(*arguments, "--operation", "softmax", "--time-limit", "0.5")
        assert status == 2
        assert "could not be judged (softmax did not return within 0.5 s" in err
        assert "side with" not in out + err


def test_nothing_in_common_is_status_two(run: Run) -> None:
    status, out, err = run("original.py", "other.py")
    assert (status, out) == (2, "")
    assert "original.py and other.py have no operation in common" in err
    assert "the first has softmax, causal_mask, the second silu" in err


def test_what_cannot_be_loaded_is_status_two(run: Run) -> None:
    status, _, err = run("original.py", "missing.py")
    assert status == 2
    assert "missing.py" in err


def test_an_unknown_operation_is_status_two(run: Run) -> None:
    status, _, err = run("original.py", "port.py", "--operation", "softmaxx")
    assert status == 2
    assert "did you mean softmax" in err


def test_json_says_what_the_page_says(run: Run, tmp_path: Path) -> None:
    status, _, _ = run("original.py", "wrong.py", "--json", "out.json", "--operation", "softmax")
    written = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert (status, written["verdict"]) == (1, "part")
    assert written["operations"][0]["partings"][0]["laws_side_with"] == "first"


def test_a_file_that_cannot_be_written_is_said_first(run: Run) -> None:
    status, out, err = run("original.py", "port.py", "--json", "nowhere/out.json")
    assert (status, out) == (2, "")
    assert "there is no folder" in err


def test_verbose_shows_every_convention(run: Run) -> None:
    _, brief, _ = run("original.py", "original.py")
    _, out, _ = run("original.py", "original.py", "--verbose")
    assert "causal_alignment" not in brief
    assert "causal_alignment" in out


MODEL = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.map = torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)

    def forward(self, x):
        return x + self.map(self.norm(x))
"""


@pytest.mark.parametrize(
    ("other", "said"),
    (
        ("empty.py", "empty.py has neither operations nor a model"),
        ("folder", "folder is a folder; name a .py file in it"),
        ("missing.pt", "there is no file missing.pt"),
    ),
)
@pytest.mark.parametrize("turned", (False, True))
def test_the_side_that_has_nothing_is_the_one_that_is_named(
    tmp_path: Path, run: Run, other: str, said: str, *, turned: bool
) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "folder").mkdir()
    both = ["model.py", other]
    status, _, error = run(*(reversed(both) if turned else both))
    assert status == 2
    assert said in " ".join(error.split())
