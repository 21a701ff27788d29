"""The command line where the terminal, its streams or its files are not as usual: a clear end, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from veriformer.cli import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="streams are closed by a POSIX shell")

RIGHT = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
LITTLE = ("--law", "softmax.shape", "--tier", "quick")


@pytest.fixture
def right(tmp_path: Path) -> Path:
    file = tmp_path / "right.py"
    file.write_text(RIGHT)
    return file


def ended(arguments: list[str], redirection: str = "") -> subprocess.CompletedProcess[str]:
    """Run the program under a shell that redirects its streams."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "veriformer.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_changes_neither_the_verdict_nor_the_report(right: Path, redirection: str) -> None:
    report = right.with_suffix(".json")
    assert ended(["check", str(right), *LITTLE, "--json", str(report)], redirection).returncode == 0
    assert json.loads(report.read_text())["verdict"] == "conforms"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_the_report_is_written_where_nothing_can_be_printed(right: Path) -> None:
    report = right.with_suffix(".json")
    run = ended(["check", str(right), *LITTLE, "--json", str(report)], "> /dev/full")
    assert run.returncode == 2
    assert run.stderr == "Error: cannot write standard output: No space left on device\n"
    assert json.loads(report.read_text())["verdict"] == "conforms"


@pytest.mark.parametrize("option", ["--json", "--resume"])
def test_no_source_is_overwritten(right: Path, option: str) -> None:
    run = ended(["check", f"{right}", *LITTLE, option, str(right)])
    assert run.returncode == 2
    assert "name a" in run.stderr
    assert right.read_text() == RIGHT


def test_the_list_of_expected_failures_is_not_overwritten(right: Path) -> None:
    expected = right.with_name("expected.txt")
    expected.write_text("softmax.shape  # because\n")
    run = ended(["check", str(right), *LITTLE, "--expected-failures", str(expected), "--json", str(expected)])
    assert run.returncode == 2
    assert expected.read_text() == "softmax.shape  # because\n"


@pytest.mark.parametrize("command", ["identify", "compare"])
def test_no_source_is_overwritten_by_other_commands(right: Path, command: str) -> None:
    others = ["numpy"] if command == "compare" else []
    run = ended([command, str(right), *others, "--json", str(right)])
    assert run.returncode == 2
    assert right.read_text() == RIGHT


@pytest.mark.parametrize("option", ["--time-limit", "--memory-limit"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e10", "0", "-1"])
def test_a_limit_that_is_none_is_refused(
    right: Path, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["check", str(right), *LITTLE, f"{option}={value}"])
    assert end.value.code == 2
    assert f"Invalid value for '{option}'" in capsys.readouterr().err


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5])
def test_an_early_interrupt_shows_no_traceback_of_ours(right: Path, delay: float) -> None:
    command = [sys.executable, "-m", "veriformer.cli", "check", str(right)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    # Python shows a traceback of its own where it has not begun to run the program yet.
    assert process.returncode == 130 or "veriformer/cli" not in errors
    assert not ("Traceback" in errors and "veriformer/cli" in errors)
