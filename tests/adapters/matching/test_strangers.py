"""Thirty files as strangers write them, right and wrong, judged as they are by the command that strangers give."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from veriformer.cli import main

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent / "strangers"
MISTAKES = {
    entry["file"]: (entry["slug"], entry["line"])
    for entry in tomllib.loads((FOLDER / "mistakes.toml").read_text(encoding="utf-8"))["mistake"]
}
FILES = sorted(file.stem for file in FOLDER.glob("*.py"))
RIGHT = [name for name in FILES if name not in MISTAKES]
# A screen of a terminal that is as high as most.
SCREEN = 40


def checked(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the exit status of `veriformer check FILE` and what it prints; skip where the framework is missing."""
    framework = name.rpartition("_")[2]
    if find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    monkeypatch.chdir(FOLDER)
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as end:
        main(["check", f"{name}.py", "--tier", "quick"])
    return int(end.value.code or 0), capsys.readouterr().out


def public_names(name: str) -> dict[str, set[str]]:
    """Return the functions and classes that a file defines for others, each with the names that stand in it."""
    body = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")).body
    defined = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_"]
    return {node.name: {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} for node in defined}


def not_said(name: str, report: str) -> set[str]:
    """Return the public names that a report is silent on; the parts of a model that it names are judged with it."""
    names = public_names(name)
    said = {one for one in names if re.search(rf"(?<!\w){one}(?!\w)", report)}
    models = {one for one in said if re.search(rf"{name}\.py:{one} (holds|departs)", " ".join(report.split()))}
    while models:
        said |= models
        models = {part for one in models for part in names[one] if part in names} - said
    return set(names) - said


def test_there_are_as_many_right_files_as_wrong_ones_of_every_framework() -> None:
    frameworks = [name.rpartition("_")[2].replace("equinox", "jax") for name in FILES]
    counted = {framework: frameworks.count(framework) for framework in sorted(set(frameworks))}
    assert counted == {"jax": 6, "mlx": 3, "numpy": 6, "tensorflow": 3, "torch": 12}
    assert len(RIGHT) == len(MISTAKES) == 15


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_file_holds_and_nothing_of_it_is_passed_over(name, monkeypatch, capsys) -> None:
    status, report = checked(name, monkeypatch, capsys)
    assert status == 0, report
    assert not not_said(name, report), report


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_what_is_wrong_is_named_on_the_last_screen_with_its_place(name, monkeypatch, capsys) -> None:
    status, report = checked(name, monkeypatch, capsys)
    slug, line = MISTAKES[name]
    last_screen = "\n".join(report.splitlines()[-SCREEN:])
    assert status == 1, report
    assert slug in last_screen, report
    assert re.search(rf"{name}\.py:{line}(?!\d)", last_screen), report
