"""Finding the user's function in the user's file, without importing it."""

from __future__ import annotations

from pathlib import Path

import pytest
from html_pages import Parsed
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.reports.definitions import definition_of
from veriformer.conformance_tests.reports.html.pages import check_page
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.laws import LAWS

SOURCE = """raise SystemExit("imported")

def cached(function):
    return function

@cached
def softmax(x):
    return "</code></pre><script>alert(1)</script>"

class Other:
    def softmax(self, x):
        return 1
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(SOURCE)
    return "mine.py"


def test_a_function_begins_with_its_decorators(file: str) -> None:
    found = definition_of(f"{file}:cached", "cached")
    assert found is not None
    assert (found.place, found.code) == ("mine.py:3", "def cached(function):\n    return function")


def test_the_method_of_an_object_is_its_class_own(file: str) -> None:
    found = definition_of(f"{file}:Other", "softmax")
    assert found is not None
    assert (found.at.line, found.code) == (11, "    def softmax(self, x):\n        return 1")


def test_a_long_function_is_cut(file: str) -> None:
    Path(file).write_text("def softmax(x):\n" + "    x = x\n" * 100)
    found = definition_of(file, "softmax")
    assert found is not None
    assert found.code.splitlines()[-1] == "…"
    assert len(found.code.splitlines()) == 25


@pytest.mark.parametrize(
    "source", (None, "numpy", "package.module:build", "nothing.py", "mine.py:softmax:x", "\x00.py")
)
def test_what_has_no_file_has_no_function(file: str, source: str | None) -> None:
    assert definition_of(source, "no_such_operation") is None


def test_a_file_that_is_no_python_has_none(file: str) -> None:
    Path(file).write_text("def softmax(:\n")
    assert definition_of(file, "softmax") is None


def test_code_is_shown_and_not_obeyed(file: str) -> None:
    Path(file).write_text(SOURCE.partition("class")[0])
    result = LawResult(LAWS["softmax.shape"], "failed", 1)
    page = check_page([Report("mine.py", "numpy", 0, "quick", (result,), source=file)])
    assert "mine.py:7" in Parsed(page).text
    assert 'return "</code></pre><script>alert(1)</script>"' in Parsed(page).text
