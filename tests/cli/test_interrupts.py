"""An interrupt ends a command with what was found so far, on the screen and in the files that were asked for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from veriformer.conformance_tests.reports.schemas import schema

pytestmark = pytest.mark.long

# Wrong in softmax, which is tried before the activation that takes its time.
SLOW = """
import time
import numpy as np

def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=0, keepdims=True)

def gelu(x):
    open("begun", "w").close()
    time.sleep(0.5)
    return x
"""


def interrupted(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command until the slow function is called, interrupt it, and return its status and what it printed."""
    (folder / "slow.py").write_text(SLOW)
    (folder / "begun").unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "veriformer.cli", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # What a shell runs in the background ignores interrupts, and hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    until = time.monotonic() + 120
    while not (folder / "begun").exists():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    # The first laws of the slow function, by which the others have been tried.
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize("options", [(), ("--no-isolate",), ("--workers", "2")])
def test_check_reports_what_it_has(tmp_path: Path, options: tuple[str, ...]) -> None:
    from jsonschema import Draft202012Validator

    files = ("--json", "out.json", "--markdown", "out.md", "--junit", "out.xml", "--report", "out.html")
    status, out, err = interrupted(tmp_path, "check", "slow.py", "--tier", "quick", *options, *files)
    assert status == 130, err
    assert err.splitlines()[-1] == "Interrupted" and "Traceback" not in err
    said = " ".join(out.split())
    assert "interrupted after " in said and "laws; the others were not tried" in said
    assert "not tried" in out.splitlines()[-1]
    written = json.loads((tmp_path / "out.json").read_text())
    Draft202012Validator(schema("check")).validate(written)
    assert written["interrupted"] is True
    statuses = {law["id"]: law["status"] for law in written["laws"]}
    assert "failed" in statuses.values() and "not_tried" in statuses.values()
    assert {law.split(".")[0] for law, one in statuses.items() if one == "failed"} <= {"softmax", "gelu"}
    assert written["counts"]["not_tried"] > 0
    assert all((tmp_path / name).stat().st_size for name in ("out.md", "out.xml", "out.html"))


@pytest.mark.parametrize("options", [(), ("--no-isolate",)])
def test_compare_reports_what_it_has(tmp_path: Path, options: tuple[str, ...]) -> None:
    from jsonschema import Draft202012Validator

    right = SLOW.replace("axis=0", "axis=-1").replace('    open("begun", "w").close()\n', "")
    (tmp_path / "other.py").write_text(right)
    arguments = ("--json", "out.json", "--tier", "quick", *options)
    status, out, err = interrupted(tmp_path, "compare", "slow.py", "other.py", *arguments)
    assert status == 130, err
    assert err.splitlines()[-1] == "Interrupted" and "Traceback" not in err
    assert "slow.py is wrong" in out and "interrupted after 1 of 2 operations" in " ".join(out.split())
    written = json.loads((tmp_path / "out.json").read_text())
    Draft202012Validator(schema("compare")).validate(written)
    assert written["interrupted"] is True
    assert [one["operation"] for one in written["operations"]] == ["softmax"]


@pytest.mark.parametrize("options", [(), ("--no-isolate",)])
def test_identify_reports_what_it_has(tmp_path: Path, options: tuple[str, ...]) -> None:
    from jsonschema import Draft202012Validator

    status, out, err = interrupted(tmp_path, "identify", "slow.py", "--json", "out.json", *options)
    assert status == 130, err
    assert err.splitlines()[-1] == "Interrupted" and "Traceback" not in err
    assert "Interrupted after 1 operation; the others were not asked about" in out
    written = json.loads((tmp_path / "out.json").read_text())
    Draft202012Validator(schema("identify")).validate(written)
    assert written["interrupted"] is True
