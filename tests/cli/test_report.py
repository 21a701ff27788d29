"""`--report` of check, compare and identify, and `veriformer report diff`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

RIGHT = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
WRONG = RIGHT.replace(" - x.max(axis=-1, keepdims=True)", "")
LAWS = ("--law", "softmax.large_logits", "--law", "softmax.shape", "--tier", "quick")

Run = Callable[..., tuple[int, str, str]]


def test_a_violation_is_on_the_page_with_the_command_and_the_code(run: Run) -> None:
    status, _, err = run("check", "wrong.py", *LAWS, "--report", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert (status, err) == (1, "")
    assert "softmax overflows where logits are large" in page
    assert "veriformer check wrong.py --law softmax.large_logits" in page
    assert "wrong.py:3" in page
    assert "e = np.exp(x)" in page


def test_two_runs_are_compared(run: Run) -> None:
    Path("one.py").write_text(RIGHT)
    run("check", "one.py", *LAWS, "--report", "old.html")
    Path("one.py").write_text(WRONG)
    run("check", "one.py", *LAWS, "--json", "new.json")
    status, out, err = run("report", "diff", "old.html", "new.json", "--html", "diff.html")
    assert (status, err) == (1, "")
    assert "✗ softmax.large_logits   softmax_no_max_subtraction" in out
    assert out.splitlines()[-1] == "1 newly broken"
    assert "Newly broken" in Path("diff.html").read_text(encoding="utf-8")
    assert run("report", "diff", "new.json", "old.html")[0] == 0


def test_what_cannot_be_loaded_has_a_page(run: Run) -> None:
    status, _, _ = run("check", "broken.py", "--report", "report.html")
    assert status == 2
    assert "broken.py could not be loaded" in Path("report.html").read_text(encoding="utf-8")


def test_compare_and_identify_write_pages(run: Run) -> None:
    assert run("compare", "right.py", "wrong.py", "--tier", "quick", "--report", "compare.html")[0] == 1
    page = Path("compare.html").read_text(encoding="utf-8")
    assert "wrong.py differs from right.py in the one operation that both have: softmax" in page
    assert run("identify", "right.py", "--report", "identify.html")[0] == 0
    assert "conventions of right.py are known" in Path("identify.html").read_text(encoding="utf-8").replace(
        "&#39;", "'"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    (
        (("check", "right.py", "--report", "right.py"), "cannot write right.py"),
        (("check", "right.py", "--report", "no/report.html"), "there is no folder no"),
        (("check", "right.py", "--report", "."), "it is a folder"),
        (("check", "right.py", "--report", "a", "--json", "a"), "--report and --json both write a"),
        (("check", "right.py", "--report", "a", "--resume", "a"), "--report and --resume both write a"),
        (("identify", "right.py", "--report", "a", "--json", "a"), "--report and --json both write a"),
        (("compare", "right.py", "wrong.py", "--report", "wrong.py"), "cannot write wrong.py"),
        (("report", "diff", "right.py", "wrong.py"), "right.py is no report"),
        (("report", "diff", "old.html", "new.html"), "cannot read old.html: No such file"),
        (("report", "diff", "right.py", "wrong.py", "--html", "right.py"), "cannot write right.py"),
    ),
)
def test_what_cannot_be_done_is_said_before_the_run(run: Run, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert Path("right.py").read_text() == RIGHT
