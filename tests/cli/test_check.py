"""`veriformer check`: exit statuses, errors in one sentence, files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from veriformer.conformance_tests.run import checking

LAWS = ("--law", "softmax.large_logits", "--law", "softmax.shape", "--tier", "quick")

Run = Callable[..., tuple[int, str, str]]


def test_all_laws_hold(run: Run) -> None:
    status, out, err = run("check", "right.py", *LAWS)
    assert (status, err) == (0, "")
    assert out.splitlines()[-1].startswith("2 laws held, 0 violated, 0 errors, 0 not declared;")


def test_a_violation_is_status_one(run: Run) -> None:
    status, out, _ = run("check", "wrong.py", *LAWS)
    assert status == 1
    assert "✗ softmax.large_logits" in out
    assert out.splitlines()[-1].startswith("1 law held, 1 violated")


def test_nothing_judged_is_status_two(run: Run) -> None:
    status, out, _ = run("check", "right.py", "--operation", "layer_norm", "--tier", "quick")
    assert status == 2
    assert "No law was judged" in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("check", "nope.py"), "there is no file nope.py"),
        (("check", "broken.py"), "nothing_of_that_name"),
        (("check", "numpyy"), "did you mean 'numpy'?"),
        (("check", "right.py", "--law", "softmax.shap"), "did you mean softmax.shape"),
        (("check", "right.py", "--operation", "softmx"), "did you mean softmax"),
        (("check", "right.py", "--dtype", "float23"), "float23"),
        (("check", "right.py", "--tier", "slow"), "'slow'"),
        (("check", "right.py", "--json", "no/such/folder/x.json"), "there is no folder no/such/folder"),
        (("check", "right.py", "--json", "."), "it is a folder"),
        (
            ("check", "right.py", "--expected-failures", "none.txt"),
            "cannot read the expected failures in none.txt",
        ),
        (("check", "right.py", "--remove-stale"), "--expected-failures FILE"),
        (("check",), "Missing argument"),
        (("chek",), "chek"),
        (("explain", "attention.scal"), "attention.scale"),
        (("derive", "variance"), "variance_scaling"),
    ],
)
def test_what_the_user_can_put_right_is_one_sentence(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    status, _, err = run(*arguments)
    assert status == 2
    assert sentence in err
    assert "Traceback" not in err


def test_the_traceback_is_that_of_the_cause(run: Run) -> None:
    status, _, err = run("check", "broken.py", "--traceback")
    assert status == 2
    assert "ModuleNotFoundError" in err
    assert 'broken.py", line 1' in err


def test_several_implementations_stand_side_by_side(run: Run) -> None:
    status, out, _ = run("check", "right.py", "wrong.py", *LAWS)
    assert status == 1
    assert out.splitlines()[0].split() == ["operation", "right.py", "wrong.py"]
    assert out.splitlines()[1].split(maxsplit=1)[1].strip() == "2 hold     1 holds, 1 does not"
    last = out.splitlines()[-2:]
    assert last[0].startswith("right.py   2 laws held, 0 violated")
    assert last[1].startswith("wrong.py   1 law held, 1 violated")


def test_one_that_cannot_be_loaded_does_not_stop_the_others(run: Run) -> None:
    status, out, err = run("check", "nope.py", "right.py", *LAWS, "--json", "out.json")
    assert status == 2
    assert "2 laws held" in out
    assert "there is no file nope.py" in err
    reports = json.loads(Path("out.json").read_text())["reports"]
    assert sorted(report["verdict"] for report in reports) == ["conforms", "error"]


def test_the_json_is_that_of_the_run(run: Run) -> None:
    run("check", "wrong.py", *LAWS, "--json", "out.json", "--seed", "5")
    written = json.loads(Path("out.json").read_text())
    assert (written["schema"], written["verdict"], written["seed"]) == (1, "violates", 5)
    assert {law["id"]: law["status"] for law in written["laws"]} == {
        "softmax.large_logits": "failed",
        "softmax.shape": "passed",
    }


def test_expected_failures_make_the_run_conform(run: Run) -> None:
    Path("known.txt").write_text("softmax.large_logits  # max is not subtracted\n")
    status, out, _ = run("check", "wrong.py", *LAWS, "--expected-failures", "known.txt")
    assert status == 0
    assert "max is not subtracted" in out


def test_stale_lines_fail_the_run_until_they_are_removed(run: Run) -> None:
    Path("known.txt").write_text("# known\nsoftmax.large_logits  # true\nsoftmax.shape  # stale\n")
    arguments = ("check", "wrong.py", *LAWS, "--expected-failures", "known.txt")
    status, out, _ = run(*arguments)
    assert status == 1
    repair = "veriformer check wrong.py --law softmax.large_logits --law softmax.shape --tier quick"
    assert " ".join(out.split()).count(f"{repair} --expected-failures known.txt --remove-stale") == 1
    status, _, err = run(*arguments, "--remove-stale")
    assert (status, err) == (0, "1 stale line removed from known.txt\n")
    assert Path("known.txt").read_text() == "# known\nsoftmax.large_logits  # true\n"


def test_a_line_that_another_implementation_needs_stays(run: Run) -> None:
    Path("known.txt").write_text("softmax.large_logits  # true of one\n")
    arguments = ("check", "wrong.py", "right.py", *LAWS, "--expected-failures", "known.txt", "--remove-stale")
    status, _, err = run(*arguments)
    assert status == 1
    assert err.startswith("0 stale lines removed")
    assert Path("known.txt").read_text() == "softmax.large_logits  # true of one\n"


def test_a_defect_of_ours_does_not_look_like_a_violation(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def defective(*_: object, **__: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(checking, "run_check", defective)
    status, out, err = run("check", "right.py", *LAWS)
    assert (status, out) == (2, "")
    assert "defect of Veriformer" in err
    assert "Traceback" not in err
    assert "Traceback" in run("check", "right.py", "--traceback")[2]


def test_an_interrupted_run_is_not_a_violation(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "run_check", interrupted)
    assert run("check", "right.py")[0] == 130


WHERE = """
import os
def softmax(x):
    open("where.txt", "w").write(str(os.getpid()))
    return x
"""


@pytest.mark.parametrize(
    ("arguments", "isolated"),
    [
        (("where.py",), True),
        (("./where.py:everything",), True),
        (("where.py", "--no-isolate"), False),
        (("where",), False),
        (("where", "--isolate"), True),
    ],
)
def test_files_run_in_a_process_of_their_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], isolated: bool
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "where", raising=False)
    (tmp_path / "where.py").write_text(WHERE + "import sys\neverything = sys.modules[__name__]\n")
    assert run("check", *arguments, *LAWS)[0] == 1
    assert (int(Path("where.txt").read_text()) != os.getpid()) == isolated


def test_what_hangs_ends_in_an_error(run: Run) -> None:
    Path("hangs.py").write_text("def softmax(x):\n    while True:\n        pass\n")
    status, out, err = run("check", "hangs.py", "right.py", "--time-limit", "0.3", *LAWS, "--traceback")
    assert (status, err) == (1, "")
    assert "hangs.py   0 laws held, 0 violated, 2 errors" in out
    assert "right.py   2 laws held, 0 violated" in out


@pytest.mark.parametrize("option", ("--time-limit", "--memory-limit"))
def test_limits_are_positive(run: Run, option: str) -> None:
    status, _, err = run("check", "right.py", option, "0")
    assert status == 2
    assert "0" in err


def test_a_built_in_is_never_isolated(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veriformer.adapters.isolation.process.WorkerProcess", None)
    assert run("check", "numpy", "--isolate", *LAWS)[0] == 0


def test_a_budget_reports_the_rest_as_not_tried(run: Run, tmp_path: Path) -> None:
    written = tmp_path / "report.json"
    status, out, _ = run("check", "numpy", "--operation", "softmax", "--budget", "1e-9", "--json", str(written))
    assert status == 2
    assert "17 not tried" in out
    found = json.loads(written.read_text())
    assert found["verdict"] == "error"
    assert found["counts"]["not_tried"] == found["counts"]["laws"]
    assert {law["status"] for law in found["laws"]} == {"not_tried"}


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf", "soon"])
def test_a_budget_is_a_number_of_seconds(run: Run, budget: str) -> None:
    status, _, err = run("check", "numpy", "--budget", budget)
    assert status == 2
    assert "is not a finite number of seconds above 0" in err


@pytest.mark.parametrize("command", ["check", "compare", "identify"])
def test_help_has_examples_within_two_screens(command, run):
    status, out, _ = run(command, "--help")
    assert status == 0
    lines = out.splitlines()
    first = lines.index("  Examples:") + 1
    assert all(line.startswith(f"    veriformer {command} ") for line in lines[first : first + 3])
    assert len(lines) <= 80
