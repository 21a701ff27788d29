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


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "veriformer.cli", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # What a shell runs in the background ignores interrupts, and hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def until_begun(folder: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the slow function is called."""
    until = time.monotonic() + 120
    while not (folder / "begun").exists():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)


def until_caught(process: subprocess.Popen[str]) -> None:
    """Wait until Python turns an interrupt into an exception, before which it is ended by it."""
    caught = 0
    while not caught & 1 << signal.SIGINT - 1:
        (words,) = [
            line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("SigCgt")
        ]
        caught = int(words.split()[1], 16)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Interrupt a command, and return its status and what it printed; nothing that it started may be left."""
    before = workers_of(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    until = time.monotonic() + 5
    while (left := [one for one in before if is_alive(one)]) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left
    assert "Traceback" not in out + err
    return process.returncode, out, err


def workers_of(parent: int) -> list[int]:
    """Return the processes that one has started, and those that these have."""
    try:
        tasks = Path(f"/proc/{parent}/task").iterdir()
        children = [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []
    return [*children, *(one for child in children for one in workers_of(child))]


def is_alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def interrupted(folder: Path, *arguments: str, source: str = SLOW, seconds: float = 4.0) -> tuple[int, str, str]:
    """Run a command until the slow function is called, and some seconds more, and interrupt it."""
    (folder / "slow.py").write_text(source)
    (folder / "begun").unlink(missing_ok=True)
    process = started(folder, *arguments)
    until_begun(folder, process)
    time.sleep(seconds)
    return ended(process)


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


# Other names, so that it has to be found out what they are.
UNKNOWN = """
import time
import numpy as np

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def my_norm(x, gamma, eps=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gamma

def my_attention(q, k, v):
    open("begun", "w").close()
    time.sleep(5)
"""
MODEL = """
import time
import torch

CALLS = []

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm = torch.nn.Embedding(20, 8), torch.nn.LayerNorm(8)
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, tokens):
        CALLS.append(1)
        if len(CALLS) > FREE:
            open("begun", "w").close()
            time.sleep(SLEEP)
        x = self.embedding(tokens)
        return x + self.down(torch.relu(self.up(self.norm(x))))

def build():
    return Net()
"""


@pytest.mark.parametrize("options", [(), ("--no-isolate",)])
@pytest.mark.parametrize("command", [("check", "slow.py"), ("identify", "slow.py"), ("compare", "other.py", "slow.py")])
def test_functions_that_were_recognised_are_told(
    tmp_path: Path, command: tuple[str, ...], options: tuple[str, ...]
) -> None:
    (tmp_path / "other.py").write_text(UNKNOWN.partition("def my_attention")[0])
    status, out, err = interrupted(tmp_path, *command, *options, source=UNKNOWN, seconds=0.5)
    assert status == 130, err
    done = "compared" if command[0] == "compare" else "judged"
    assert err.splitlines()[-1] == f"Interrupted before anything was {done}"
    told = out.partition("slow.py, found before the interrupt:\n")[2].splitlines()
    assert told[:2] == ["  - softmax is to be judged", "  - my_norm is to be judged as rms_norm: (…, E)"]
    assert told[-1] == "  - interrupted while finding out what my_attention is"
    assert ("other.py, found before the interrupt:" in out) == (command[0] == "compare")


@pytest.mark.parametrize("options", [(), ("--no-isolate",)])
@pytest.mark.parametrize("command", ["check", "compare"])
def test_what_was_read_of_a_model_is_told(tmp_path: Path, command: str, options: tuple[str, ...]) -> None:
    model = MODEL.replace("FREE", "0").replace("SLEEP", "5")
    (tmp_path / "other.py").write_text(MODEL.replace("FREE", "9999"))
    both = ("other.py:build", "slow.py:build") if command == "compare" else ("slow.py:build",)
    status, out, err = interrupted(tmp_path, command, *both, *options, source=model, seconds=0.5)
    assert status == 130, err
    assert err.splitlines()[-1].startswith("Interrupted before anything was ")
    told = out.partition("slow.py:build, found before the interrupt:\n")[2].splitlines()
    assert told[:2] == ["  - it is a model of torch", "  - interrupted while recording a forward pass of it"]
    assert ("a forward pass of it was recorded: " in out) == (command == "compare")


def test_the_parts_of_a_model_and_the_laws_that_were_tried_are_reported(tmp_path: Path) -> None:
    model = MODEL.replace("FREE", "8").replace("SLEEP", "0.5")
    status, out, err = interrupted(tmp_path, "check", "slow.py:build", "--json", "out.json", source=model, seconds=1)
    assert status == 130, err
    assert err.splitlines()[-1] == "Interrupted"
    said = " ".join(out.split())
    assert (
        "Interrupted while its laws were tried" in said
        and "feed_forward" in said
        and "interrupted before every law was tried" in said
    )
    assert json.loads((tmp_path / "out.json").read_text())["interrupted"] is True


@pytest.mark.parametrize("seconds", [0.3, 0.7, 2.0])
@pytest.mark.parametrize("command", ["check slow.py", "compare slow.py slow.py", "check slow.py:build"])
def test_an_early_interrupt_is_one_line(tmp_path: Path, command: str, seconds: float) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(20)\n")
    process = started(tmp_path, *command.split())
    until_caught(process)
    time.sleep(seconds)
    status, out, err = ended(process)
    assert status == 130
    assert err.strip().startswith("Interrupted before anything was ") and len(err.strip().splitlines()) == 1
    # A process of its own imports and builds in one step; before it has begun that step, the command says the first.
    doing = {"  - interrupted while importing it", "  - interrupted while importing and building it"}
    assert {*out.splitlines()[1:]} <= doing
