"""The hook of pre-commit, run by pre-commit from a clone, in a project of somebody else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RIGHT = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
WRONG = RIGHT.replace(" - x.max(axis=-1, keepdims=True)", "")


def git(folder: Path, *arguments: str) -> None:
    me = ("-c", "user.name=Me", "-c", "user.email=me@example.org")
    subprocess.run(["git", "-C", str(folder), *me, *arguments], check=True, capture_output=True)


def pre_commit(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pre_commit", *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def test_the_manifest_is_valid() -> None:
    status, said = pre_commit(ROOT, "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"))
    assert status == 0, said


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a clone of the repository as it lies here, committed or not."""
    folder = tmp_path / "clone"
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    git(folder.parent, "init", "--quiet", str(folder))
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", "A clone")
    return folder


@pytest.mark.long
def test_it_checks_the_files_that_the_project_names(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "installed"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "--quiet")
    head = subprocess.run(["git", "-C", str(clone), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    hook = {"id": "veriformer", "files": r"^layers/"}
    repository = {"repo": str(clone), "rev": head.stdout.strip(), "hooks": [hook]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [repository]}), encoding="utf-8")
    (project / "layers").mkdir()
    (project / "layers" / "mine.py").write_text(RIGHT, encoding="utf-8")
    (project / "other.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    git(project, "add", "--all")
    status, said = pre_commit(project, "run", "--all-files")
    assert status == 0, said
    assert "laws of the Transformer" in said and "Passed" in said
    (project / "layers" / "mine.py").write_text(WRONG, encoding="utf-8")
    git(project, "add", "--all")
    status, said = pre_commit(project, "run", "--all-files")
    assert status == 1, said
    assert "softmax overflows where logits are large" in said or "softmax_no_max_subtraction" in said
