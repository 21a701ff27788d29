"""`--junit`, `--sarif` and `--markdown`, and what GitHub is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from junitparser import JUnitXml
from veriformer.cli import main

WRONG = "import numpy as np\n\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum(axis=-1, keepdims=True)\n"
LAWS = ("--law", "softmax.large_logits", "--law", "softmax.shape", "--tier", "quick")
FILES = ("--junit", "out.xml", "--sarif", "out.sarif", "--markdown", "out.md")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "right.py").write_text(WRONG.replace("np.exp(x)", "np.exp(x - x.max(axis=-1, keepdims=True))"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return command


def test_a_check_of_several_has_a_suite_and_a_run_for_each(run: Run) -> None:
    status, out, _ = run("check", "wrong.py", "right.py", "nope.py", *LAWS, *FILES)
    assert status == 2
    assert "::" not in out
    suites = list(JUnitXml.fromfile("out.xml"))
    assert [(suite.name, suite.tests, suite.failures, suite.errors) for suite in suites] == [
        ("wrong.py", 2, 1, 0),
        ("right.py", 2, 0, 0),
        ("nope.py", 1, 0, 1),
    ]
    assert {case.classname for case in suites[0]} == {"wrong.py.softmax"}
    runs = json.loads(Path("out.sarif").read_text("utf-8"))["runs"]
    assert [len(one["results"]) for one in runs] == [1, 0, 1]
    assert [one["invocations"][0]["executionSuccessful"] for one in runs] == [True, True, False]
    place = runs[0]["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("wrong.py", 3)
    assert [line[:5] for line in Path("out.md").read_text("utf-8").splitlines() if line.startswith("#")] == [
        "### ✗",
        "### ✓",
        "### !",
    ]


def test_github_is_shown_annotations_and_a_summary(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_status, plain_out, _ = run("check", "wrong.py", *LAWS)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before\n")
    status, out, err = run("check", "wrong.py", *LAWS)
    assert (status, plain_status, err) == (1, 1, "")
    first, *shown, end, annotation = out.splitlines()
    word = first.removeprefix("::stop-commands::")
    assert len(word) == 32
    assert end == f"::{word}::"
    # The last line has the seconds.
    assert shown[:-1] == plain_out.splitlines()[:-1]
    assert annotation.startswith("::error file=wrong.py,line=3,title=")
    assert Path("summary.md").read_text("utf-8").startswith("before\n<!-- veriformer -->\n")


def test_a_summary_that_cannot_be_written_changes_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/folder/summary.md")
    status, _, err = run("check", "right.py", *LAWS)
    assert status == 0
    assert err == "Note: the summary of the step could not be written: No such file or directory\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    (
        (("check", "right.py", "--junit", "no/such/x.xml"), "there is no folder no/such"),
        (("check", "right.py", "--sarif", "right.py"), "the run reads it, or it is a program"),
        (("check", "right.py", "--markdown", "."), "it is a folder"),
        (("check", "right.py", "--json", "x", "--sarif", "x"), "--json and --sarif both write x"),
        (("check", "right.py", "--junit", "x", "--sarif", "./x"), "--junit and --sarif both write x"),
        (("compare", "right.py", "wrong.py", "--junit", "right.py"), "name another file"),
        (("identify", "right.py", "--markdown", "no/such/x.md"), "there is no folder no/such"),
    ),
)
def test_a_file_that_cannot_be_written_is_refused_before_the_run(run: Run, arguments, sentence: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert sentence in err


def test_a_comparison_is_written_also_if_nothing_could_be_compared(run: Run) -> None:
    status, _, _ = run("compare", "right.py", "wrong.py", "--tier", "quick", *FILES)
    assert status == 1
    assert JUnitXml.fromfile("out.xml").failures == 1
    (one,) = json.loads(Path("out.sarif").read_text("utf-8"))["runs"]
    assert one["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    status, _, err = run("compare", "right.py", "nope.py", *FILES)
    assert (status, err.count("there is no file nope.py")) == (2, 1)
    assert JUnitXml.fromfile("out.xml").errors == 1
    assert "there is no file nope" in Path("out.md").read_text("utf-8")


def test_identify_writes_a_table(run: Run) -> None:
    status, _, _ = run("identify", "right.py", "--markdown", "out.md")
    assert status == 0
    assert "| softmax\\_dtype |" in Path("out.md").read_text("utf-8")


def test_the_json_lists_all_laws_if_asked(run: Run) -> None:
    arguments = ("check", "right.py", *LAWS, "--law", "gelu.shape", "--json", "out.json")
    listed = []
    for more in ((), ("--all-laws",)):
        assert run(*arguments, *more)[0] == 0
        listed.append([law["id"] for law in json.loads(Path("out.json").read_text("utf-8"))["laws"]])
    assert listed == [
        ["softmax.shape", "softmax.large_logits"],
        ["softmax.shape", "softmax.large_logits", "gelu.shape"],
    ]


@pytest.mark.parametrize("option", ["--json", "--junit", "--report"])
def test_the_standard_output_is_no_file(run: Run, tmp_path: Path, option: str) -> None:
    status, out, error = run("check", "right.py", *LAWS, option, "-")
    assert status == 2 and not out
    assert "name one" in error
    assert not (tmp_path / "-").exists()
