"""`veriformer check` with --workers, --dask and --resume: several implementations, and what cannot be."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from veriformer.adapters.installation import installation
from veriformer.cli import main

RIGHT = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
WRONG = RIGHT.replace(" - x.max(axis=-1, keepdims=True)", "")
SMALL = ("--operation", "softmax", "--tier", "quick")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(("check", *arguments))
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return command


def reports(path: str) -> Any:
    """Return the reports of a JSON file without the seconds that anything took."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: timeless(part) for name, part in value.items() if name != "seconds"}
        return [timeless(part) for part in value] if isinstance(value, list) else value

    return timeless(json.loads(Path(path).read_text("utf-8")))


def test_several_implementations_share_the_workers_and_the_file(run: Run) -> None:
    several = ("right.py", "broken.py", "wrong.py")
    alone, _, error = run(*several, *SMALL, "--json", "alone.json")
    together = run(*several, *SMALL, "--json", "together.json", "--workers", "2", "--resume", "run.jsonl")
    assert (together[0], together[2]) == (alone, error)
    assert reports("together.json") == reports("alone.json")
    again = run(*several, *SMALL, "--json", "again.json", "--resume", "run.jsonl")
    assert again[0] == alone
    assert reports("again.json") == reports("alone.json")


def test_the_file_of_another_run_is_one_sentence(run: Run) -> None:
    run("right.py", *SMALL, "--resume", "run.jsonl")
    before = Path("run.jsonl").read_bytes()
    status, out, error = run("right.py", *SMALL, "--resume", "run.jsonl", "--seed", "7")
    assert (status, out) == (2, "")
    assert error == (
        "Error: run.jsonl is the record of another run (seed: 0, now: 7); name another file, or delete this one to "
        "start again\n"
    )
    assert Path("run.jsonl").read_bytes() == before


def test_a_file_that_is_no_record_is_one_sentence(run: Run) -> None:
    status, _, error = run("right.py", *SMALL, "--resume", "right.py")
    assert status == 2
    assert error.startswith("Error: right.py is not the record of a run")
    assert Path("right.py").read_text() == RIGHT


@pytest.mark.parametrize(
    ("options", "sentence"),
    (
        (("--resume", "."), "Error: cannot write .: it is a folder; name a file\n"),
        (("--resume", "nowhere/run.jsonl"), "Error: cannot write nowhere/run.jsonl: there is no folder nowhere\n"),
        (("--workers", "2", "--dask", "tcp://a:1"), "Error: --workers uses processes of this machine and --dask those"),
        (("--workers", "-1"), "Invalid value for '--workers'"),
    ),
)
def test_what_cannot_be_is_said(run: Run, options: tuple[str, ...], sentence: str) -> None:
    status, out, error = run("right.py", *SMALL, *options)
    assert (status, out) == (2, "")
    assert sentence in error


def test_without_dask_the_command_that_installs_it_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, _, error = run("right.py", *SMALL, "--dask", "tcp://127.0.0.1:8786")
    assert status == 2
    assert installation().install("dask") in error
