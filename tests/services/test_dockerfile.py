"""The Dockerfile runs the README's main command, step by step."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def instructions(name: str) -> list[str]:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(f"{name} ") for line in lines if line.startswith(f"{name} ")]


def test_it_installs_and_runs_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^```sh\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert found is not None
    *install, check = found[1].strip().split(" && ")
    assert instructions("RUN") == [" && ".join(install)]
    assert [json.loads(one) for one in instructions("CMD")] == [shlex.split(check)]


def test_the_image_has_a_python_that_the_package_allows() -> None:
    assert instructions("FROM") == ["python:3.12-slim"]
    assert "Programming Language :: Python :: 3.12" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_what_git_ignores_stays_out_of_the_image() -> None:
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {".git", ".venv", "build"} <= set(left_out)
