"""`veriformer check` on whole models: told apart from implementations, exit statuses, options, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from veriformer.cli import main
from veriformer.cli.check import _ABOUT_LAWS, check_command

pytestmark = pytest.mark.long

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "my_gpt.py"
MORE = """

class Needy(nn.Module):
    def __init__(self, tokenizer):
        super().__init__()


class Strange(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x):
        return torch.cumsum(torch.sin(self.first(x)).cumprod(-1), -1)


class Half(GPT):
    def forward(self, tokens):
        logits = super().forward(tokens)
        return logits.sin().cumsum(-1).cos().cumprod(-1).sin()


def build():
    print("built here")
    return GPT()


def broken():
    raise RuntimeError("no weights here")


number = 3
"""
OPERATIONS = """
import numpy as np
from types import SimpleNamespace
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
holder = SimpleNamespace(softmax=softmax)
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    wrong = EXAMPLE.read_text()
    (tmp_path / "wrong.py").write_text(wrong + MORE)
    (tmp_path / "right.py").write_text(wrong.replace("math.sqrt(width)", "math.sqrt(q.shape[-1])") + MORE)
    (tmp_path / "operations.py").write_text(OPERATIONS)
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return command


def test_a_right_model_is_status_zero(run: Run) -> None:
    status, out, err = run("check", "right.py:GPT")
    assert (status, err) == (0, "")
    assert out.startswith("right.py:GPT holds: ")
    assert "h.0 … h.2 (3 layers)" in out


def test_a_departure_is_status_one_and_names_part_line_and_mistake(run: Run) -> None:
    status, out, err = run("check", "wrong.py:GPT", "--no-isolate")
    assert (status, err) == (1, "")
    assert out.startswith("wrong.py:GPT departs in h.0.attn … h.2.attn (3 layers): the logits")
    line = 1 + EXAMPLE.read_text().splitlines().index("        logits = q @ k.transpose(-2, -1) / math.sqrt(width)")
    assert f"where           wrong.py:{line}\n" in out
    assert "logits = q @ k.transpose(-2, -1) / math.sqrt(width)\n" in out
    assert "veriformer explain scale_by_d_model_not_head_dim" in out


def test_a_model_that_is_not_recognised_is_status_two(run: Run) -> None:
    status, out, _ = run("check", "right.py:Strange")
    assert status == 2
    assert out.startswith("right.py:Strange: no attention, feed-forward network or norm was found in it")


@pytest.mark.parametrize("isolate", ["--isolate", "--no-isolate"])
def test_what_a_model_prints_is_a_notice(run: Run, isolate: str) -> None:
    status, out, err = run("check", "right.py:build", isolate)
    assert (status, err) == (0, "")
    assert "beginning with 'built here'" in " ".join(out.split())
    assert out.startswith("right.py:build holds")


def test_a_file_without_operations_is_its_build(run: Run) -> None:
    status, out, _ = run("check", "right.py")
    assert status == 0
    assert out.startswith("right.py holds: ")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("right.py:Needy", "Needy(tokenizer); write `def build(): return Needy(...)`"),
        ("right.py:broken", "raised RuntimeError: no weights here"),
        ("right.py:number", "which is no model"),
        ("right.py:number", "it declares no operation either"),
        ("right.py:nothing", "no object 'nothing'"),
        ("nowhere.py:GPT", "there is no file nowhere.py"),
        ("nowhere.onnx", "there is no file nowhere.onnx"),
    ],
)
def test_a_model_that_could_not_be_had_is_one_sentence(run: Run, source: str, sentence: str) -> None:
    status, out, err = run("check", source, "--json", "report.json")
    assert (status, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1
    written = json.loads(Path("report.json").read_text())
    assert (written["verdict"], written["implementation"]) == ("error", source)
    assert sentence in written["reason"]


def test_the_traceback_is_shown_on_request(run: Run) -> None:
    _, _, err = run("check", "right.py:broken", "--traceback")
    assert 'raise RuntimeError("no weights here")' in err


@pytest.mark.parametrize(
    "options",
    [
        ("--law", "softmax.shape"),
        ("--operation", "softmax"),
        ("--dtype", "float64"),
        ("--tier", "quick"),
        ("--fail-fast",),
        ("--workers", "2"),
        ("--resume", "resume.json"),
        ("--budget", "3"),
        ("--tier", "standard"),
    ],
)
def test_options_about_laws_are_refused_in_one_sentence(run: Run, options: tuple[str, ...]) -> None:
    status, out, err = run("check", "right.py:GPT", *options)
    assert (status, out) == (2, "")
    assert err.startswith(
        f"Error: {options[0]} is about the laws of operations, and right.py:GPT declares no operation;"
    )
    assert len(err.splitlines()) == 1


def test_a_file_of_neither_says_how_a_model_in_it_is_named(run: Run) -> None:
    Path("near.py").write_text("def sofmax(x): return x\n")
    status, _, err = run("check", "near.py")
    assert status == 2
    assert "did you mean softmax?" in err
    assert "a model is checked by the name of its class or of a function that builds it: near.py:NAME" in err


def test_every_option_that_is_refused_exists() -> None:
    assert {option.name for option in check_command.params} >= _ABOUT_LAWS


def test_an_implementation_in_a_file_is_none_the_less_checked(run: Run) -> None:
    status, out, err = run("check", "operations.py:holder", "--law", "softmax.shape", "--tier", "quick")
    assert (status, err) == (0, "")
    assert out.splitlines()[-1].startswith("1 law held")
    assert run("check", "operations.py:holder")[0] == 0


def test_models_stand_beside_implementations(run: Run) -> None:
    arguments = ("--law", "softmax.shape", "--tier", "quick", "--json", "report.json")
    status, out, err = run("check", "right.py:GPT", "operations.py", "wrong.py:GPT", "numpy:GPT", *arguments)
    assert status == 2
    assert "numpy:GPT" in err or "'GPT'" in err
    assert out.index("operations.py") < out.index("right.py:GPT holds") < out.index("wrong.py:GPT departs")
    reports = json.loads(Path("report.json").read_text())["reports"]
    assert [report["verdict"] for report in reports] == ["conforms", "conforms", "violates", "error"]
    assert [len(report.get("departures", ())) for report in reports] == [0, 0, 3, 0]


def test_the_seed_draws_the_weights(run: Run) -> None:
    run("check", "right.py:GPT", "--seed", "5", "--json", "report.json")
    assert json.loads(Path("report.json").read_text())["seed"] == 5


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [(("--time-limit", "0.001"), "did not end within 0.001 s"), (("--memory-limit", "0.05"), "0.05 GiB of memory")],
)
def test_limits_hold_for_models(run: Run, limit: tuple[str, str], sentence: str) -> None:
    status, _, err = run("check", "right.py:GPT", *limit)
    assert status == 2
    assert sentence in err


def test_more_can_be_asked_of_a_model_and_not_of_operations(run: Run) -> None:
    assert run("check", "right.py:GPT", "--judged-at-least", "1")[0] == 0
    status, out, _ = run("check", "right.py:Half", "--judged-at-least", "0.95")
    assert status == 2
    assert "and 95 % was asked for" in " ".join(out.split())
    assert run("check", "right.py:Half")[0] == 0
    assert run("check", "right.py:GPT", "--layers-alike")[0] == 0
    status, _, err = run("check", "operations.py", "--judged-at-least", "0.9")
    assert status == 2
    assert "--judged-at-least is asked of whole models, and no source is one" in err
    assert "0<=x<=1" in run("check", "right.py:GPT", "--judged-at-least", "95")[2]
