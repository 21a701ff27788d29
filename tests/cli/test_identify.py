"""`veriformer identify`: what is printed and written, exit statuses, errors in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from veriformer.cli import main

BOTTOM_RIGHT = """
import numpy as np
def causal_mask(query_length, key_length):
    print("noise")
    return np.tril(np.ones((query_length, key_length), dtype=bool), key_length - query_length)
"""
GELUS = """
import numpy as np
def gelu(x):
    return x / (1 + np.exp(-1.702 * x))
def feed_forward(x, weights, *, activation):
    hidden = x @ weights.w_1
    return gelu(hidden) @ weights.w_2
def gated_feed_forward(x, weights, *, activation):
    return x
"""
HANGING = BOTTOM_RIGHT.replace('print("noise")', "while query_length != key_length:\n        pass")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "aligned.py").write_text(BOTTOM_RIGHT)
    (tmp_path / "liar.py").write_text(BOTTOM_RIGHT + 'conventions = {"causal_alignment": "top_left"}\n')
    (tmp_path / "hanging.py").write_text(HANGING)
    (tmp_path / "gelus.py").write_text(GELUS)
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(("identify", *arguments))
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return command


def written(path: str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_the_value_and_its_evidence_are_printed(run: Run) -> None:
    status, out, err = run("aligned.py")
    assert (status, err) == (0, "")
    assert "  bottom_right   inferred\n" in out
    assert "query_length 3, key_length 5" in out
    assert "fits bottom_right, excludes top_left" in out
    assert "noise" not in out
    assert out.splitlines()[-1] == "1 told, 0 cannot be told, 0 not accepted, 0 contradicted; 1 operation"


def test_a_contradicted_declaration_is_status_one(run: Run) -> None:
    status, out, _ = run("liar.py")
    assert status == 1
    assert "top_left   declared   CONTRADICTED" in out
    assert "declared top_left; what came fits bottom_right" in " ".join(out.split())


def test_a_question_that_is_not_answered_in_time_is_flagged(run: Run) -> None:
    status, out, err = run("hanging.py", "--time-limit", "0.5")
    assert (status, err) == (0, "")
    assert "the question could not be put: causal_mask did not return within 0.5 s" in " ".join(out.split())


def test_equal_answers_share_an_entry_and_others_do_not(run: Run) -> None:
    _, out, _ = run("gelus.py")
    assert "gelu, feed_forward\n" in out
    assert "erf   standard, since no answer decides   cannot be told" in out
    assert out.count("gated_feed_forward") == 1
    assert "2 told, 1 cannot be told" in out


def test_verbose_shows_every_question_and_its_numbers(run: Run) -> None:
    _, short, _ = run("aligned.py")
    _, long, _ = run("aligned.py", "--verbose")
    assert (short.count("asked"), long.count("asked")) == (1, 3)
    assert "result" in long
    assert "result" not in short


def test_what_is_asked_can_be_chosen(run: Run) -> None:
    status, out, _ = run("numpy", "--operation", "layer_norm", "--operation", "gelu", "--convention", "gelu_form")
    assert status == 0
    assert "gelu_form" in out
    assert "layer_norm_eps" not in out
    assert out.splitlines()[-1].startswith("1 told")


def test_the_answers_are_written_as_json(run: Run) -> None:
    status, _, _ = run("liar.py", "--json", "out.json")
    report = written("out.json")
    assert (status, report["schema"], report["verdict"]) == (1, 1, "contradicted")
    (item,) = report["conventions"]
    assert (item["operation"], item["convention"], item["value"]) == ("causal_mask", "causal_alignment", "top_left")
    assert (item["how"], item["told"], item["fits"]) == ("declared", "contradicted", ["bottom_right"])
    assert item["evidence"][0]["excludes"] == ["top_left"]
    assert item["evidence"][0]["arguments"] == {"query_length": 3, "key_length": 5}
    assert report["counts"] == {"told": 0, "untold": 0, "mistake": 0, "contradicted": 1}


def test_several_implementations_are_told_one_after_the_other(run: Run) -> None:
    status, out, err = run("aligned.py", "liar.py", "broken.py", "--json", "out.json")
    assert status == 2
    assert out.index("aligned.py") < out.index("liar.py")
    assert "nothing_of_that_name" in err
    assert [report["verdict"] for report in written("out.json")["reports"]] == ["told", "contradicted", "error"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Missing argument"),
        (("nope.py",), "there is no file nope.py"),
        (("aligned.py", "--operation", "causal_msk"), "did you mean causal_mask"),
        (("aligned.py", "--convention", "gelu_fom"), "did you mean gelu_form"),
        (("aligned.py", "--json", "no/such/folder/x.json"), "there is no folder no/such/folder"),
    ],
)
def test_what_the_user_can_put_right_is_one_sentence(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    status, _, err = run(*arguments)
    assert status == 2
    assert sentence in err
    assert "Traceback" not in err


def test_nothing_asked_is_status_two(run: Run) -> None:
    status, out, _ = run("aligned.py", "--operation", "gelu")
    assert status == 2
    assert "No operation was asked about" in out
