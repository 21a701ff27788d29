"""What the house style limits by number: the length of files and of functions."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 60


def python_files() -> list[Path]:
    """Return the Python files of the repository, whether or not they are committed, without what git ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if not _hidden(path)]
    return sorted(ROOT / name for name in listed if (ROOT / name).exists())


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part in ("build", "dist") for part in path.relative_to(ROOT).parts)


def long_functions(source: str) -> list[str]:
    """Return the functions with too long a body, docstring included, each with its number of lines."""
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = [(node.name, (node.end_lineno or 0) - node.body[0].lineno + 1) for node in functions]
    return [f"{name}: {length} lines" for name, length in lengths if length > LINES_OF_A_FUNCTION]


def test_the_files_are_found() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in python_files()}
    assert {"tests/test_house_style.py", "conformance_tests/search/search.py", "docs/build.py"} <= found
    assert len(found) > 300


def test_no_file_is_too_long() -> None:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in python_files()}
    assert {name: lines for name, lines in lengths.items() if lines > LINES_OF_A_FILE} == {}


def test_no_function_is_too_long() -> None:
    found = {path.relative_to(ROOT).as_posix(): long_functions(path.read_text("utf-8")) for path in python_files()}
    assert {name: functions for name, functions in found.items() if functions} == {}


@pytest.mark.parametrize(("lines", "is_long"), ((LINES_OF_A_FUNCTION, False), (LINES_OF_A_FUNCTION + 1, True)))
def test_a_long_function_is_seen(lines: int, is_long: bool) -> None:
    source = "class Holder:\n    def work(\n        self,\n    ):\n" + "        x = 1\n" * lines
    assert long_functions(source) == ([f"work: {lines} lines"] if is_long else [])
