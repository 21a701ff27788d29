"""Each documented finding is shown by a short script that needs the library alone, and that still holds."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest
from veriformer.adapters.built_in import BUILT_IN
from veriformer.conformance_tests.run.expected_failures import ExpectedFailures
from veriformer.spec.laws import LAWS

pytestmark = pytest.mark.long

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOLDER = DOCS / "findings"
SCRIPTS = sorted(FOLDER.glob("*.py"))
PAGE = (DOCS / "findings.md").read_text(encoding="utf-8")
MOST_LINES = 15
LIBRARIES = {"os", "math", "numpy", "torch", "jax", "flax", "equinox", "keras", "transformers", "tensorflow", "mlx"}
each_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def imported_by(script: Path) -> set[str]:
    """Return the top-level packages that a script imports."""
    nodes = list(ast.walk(ast.parse(script.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.partition(".")[0] for name in plain | {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}}


@each_script
def test_the_library_still_does_it(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backend = {"tensorflow"} if "tensorflow" in script.read_text(encoding="utf-8") else set()
    for library in sorted(imported_by(script) | backend):
        if find_spec(library) is None:
            pytest.skip(f"{script.name} needs {library}, which is not installed")
    if "keras" in imported_by(script):
        # Keras has one backend in a process, and the scripts need different ones.
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stdout
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(script))
    assert capsys.readouterr().out


@each_script
def test_a_script_is_short_and_needs_the_library_only(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert "assert " in text or "raise AssertionError" in text
    assert imported_by(script) <= LIBRARIES


def test_the_page_lists_exactly_the_scripts() -> None:
    listed = re.findall(r"^\| \[(\w+\.py)\]\(findings/\1\)", PAGE, re.MULTILINE)
    assert sorted(listed) == [script.name for script in SCRIPTS]


def test_expected_failures_name_implementations_laws_and_scripts_that_exist() -> None:
    entries = ExpectedFailures.read(FOLDER / "expected_failures.txt").entries
    assert entries
    for entry in entries:
        assert entry.implementation in BUILT_IN
        assert entry.law in LAWS
        assert (FOLDER / entry.reason.split()[-1]).is_file()
        assert f"`{entry.law}`" in PAGE


def test_the_page_of_built_ins_lists_exactly_those_that_there_are() -> None:
    page = (DOCS / "built_in.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w-]+)`", page, re.MULTILINE) == list(BUILT_IN)
