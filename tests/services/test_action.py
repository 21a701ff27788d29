"""The GitHub Action: its schema, and its steps, run by bash as GitHub runs them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
RIGHT = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
WRONG = RIGHT.replace(" - x.max(axis=-1, keepdims=True)", "")


@dataclass(frozen=True)
class Step:
    """What a step left behind."""

    status: int
    said: str
    outputs: dict[str, str]
    summary: str


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return the folder of a workflow, with the programs that it finds on its search path."""
    (tmp_path / "bin").mkdir()
    programs = {
        "veriformer": f'exec "{sys.executable}" -m veriformer.cli "$@"',
        "python": 'printf "%s\\n" "$@" > "$GITHUB_WORKSPACE/arguments"',
    }
    for name, line in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    return tmp_path


def run(workspace: Path, name: str, monkeypatch: pytest.MonkeyPatch, **given: str) -> Step:
    """Run a step in a workspace, with the inputs that are given and the defaults of the others."""
    step = next(one for one in ACTION["runs"]["steps"] if one.get("name") == name)
    inputs = {key: str(one.get("default", "")) for key, one in ACTION["inputs"].items()}
    inputs |= {key.replace("_", "-"): value for key, value in given.items()}
    known = {f"inputs.{key}": value for key, value in inputs.items()}
    known |= {"github.action_path": "/the action", "runner.temp": str(workspace / "temp")}
    for variable, value in step["env"].items():
        monkeypatch.setenv(variable, re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known[found[1]], value))
    monkeypatch.setenv("PATH", f"{workspace / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(workspace))
    for variable, file in (("GITHUB_OUTPUT", "output"), ("GITHUB_STEP_SUMMARY", "summary")):
        (workspace / file).write_text("", encoding="utf-8")
        monkeypatch.setenv(variable, str(workspace / file))
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    ended = subprocess.run(bash, cwd=workspace, capture_output=True, text=True, check=False)
    lines = (workspace / "output").read_text(encoding="utf-8").splitlines()
    outputs = dict(line.split("=", 1) for line in lines)
    return Step(ended.returncode, ended.stdout + ended.stderr, outputs, (workspace / "summary").read_text("utf-8"))


def test_it_is_as_githubs_schema_wants_it() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"]
    said = subprocess.run([*command, str(ROOT / "action.yml")], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout


def test_a_wrong_action_is_seen_by_the_schema(tmp_path: Path) -> None:
    (tmp_path / "action.yml").write_text((ROOT / "action.yml").read_text("utf-8").replace("shell: bash", ""), "utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"]
    assert subprocess.run([*command, str(tmp_path / "action.yml")], capture_output=True, check=False).returncode == 1


def test_a_mistake_ends_the_step_and_is_shown(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = run(workspace, "Check the laws", monkeypatch, sources="right.py\nwrong.py", tier="quick")
    assert step.status == 1
    assert "::error " in step.said
    assert "wrong.py" in step.summary
    assert step.outputs["status"] == "1"
    assert json.loads(Path(step.outputs["badge"]).read_text("utf-8"))["color"] == "red"
    runs = json.loads(Path(step.outputs["sarif"]).read_text("utf-8"))["runs"]
    assert [bool(one["results"]) for one in runs] == [False, True]
    assert len(json.loads(Path(step.outputs["json"]).read_text("utf-8"))["reports"]) == 2
    assert (workspace / "veriformer.md").read_text("utf-8").startswith("<!-- veriformer -->")


def test_what_holds_passes(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = run(workspace, "Check the laws", monkeypatch, sources="right.py", tier="quick", markdown="")
    assert (step.status, step.outputs["status"]) == (0, "0")
    assert "::error " not in step.said
    assert not (workspace / "veriformer.md").exists()


def test_known_failures_are_passed_on(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "known.txt").write_text("softmax.large_logits  # known\n", encoding="utf-8")
    step = run(
        workspace, "Check the laws", monkeypatch, sources="right.py", tier="quick", expected_failures="known.txt"
    )
    assert step.status == 1
    assert "known.txt" in step.said


def test_a_source_that_is_not_there_keeps_its_status(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = run(workspace, "Check the laws", monkeypatch, sources="none.py")
    assert (step.status, step.outputs["status"]) == (2, "2")


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({}, ["--constraint", "/the action/constraints.txt", "/the action[torch]"]),
        ({"extras": "jax,flax"}, ["--constraint", "/the action/constraints.txt", "/the action[jax,flax]"]),
        ({"extras": "", "requirements": "mine.txt"}, ["--requirement", "mine.txt", "/the action"]),
    ],
)
def test_it_installs_itself(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], arguments: list[str]
) -> None:
    assert run(workspace, "Install Veriformer", monkeypatch, **given).status == 0
    installed = (workspace / "arguments").read_text(encoding="utf-8").splitlines()
    assert installed == ["-m", "pip", "install", "--quiet", *arguments]


def test_inputs_reach_bash_as_variables_only() -> None:
    """An input that stood in a script would be run."""
    assert all("${{" not in step["run"] for step in ACTION["runs"]["steps"] if "run" in step)
