"""Is anything lost when a worker, or the whole run, is killed at a moment that nobody chose?

    python benchmarks/killed_runs.py --runs 20

Runs `veriformer check --workers 2 --resume FILE` again and again on an implementation that is right and on one that is
wrong, kills a worker or the whole process by SIGKILL at random, and starts the same command again with the same FILE.
Prints a Markdown table; exit status 1 when a result that was in FILE was lost or tried again, when a report is not that
of an undisturbed run, or when nothing could be killed in time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEADER = (
    "killed",
    "implementation",
    "runs",
    "killed in time",
    "results before",
    "lost",
    "tried again",
    "other reports",
)
# Rows divided by a sum without the maximum taken off, and a gain that is forgotten.
WRONG = """
import numpy as np


def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def rms_norm(x, gamma, eps):
    return (x / np.sqrt((x.astype(float) ** 2).mean(axis=-1, keepdims=True) + eps)).astype(x.dtype)


def causal_mask(query_length, key_length):
    return np.tri(query_length, key_length, dtype=bool)
"""
OPERATIONS = ("softmax", "rms_norm", "layer_norm", "causal_mask", "rotary_embedding", "gelu")
SECONDS_TO_LOOK = 0.02


@dataclass
class Row:
    """What came of the runs in which one kind of process was killed."""

    killed: str
    implementation: str
    runs: int = 0
    in_time: int = 0
    before: int = 0
    lost: int = 0
    tried_again: int = 0
    other_reports: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether something was killed and nothing was lost."""
        return self.in_time > 0 and not (self.lost or self.tried_again or self.other_reports)

    def cells(self) -> tuple[str, ...]:
        """Return this row of the table."""
        counts = (self.runs, self.in_time, self.before, self.lost, self.tried_again, len(self.other_reports))
        return (self.killed, self.implementation, *map(str, counts))


class Trial:
    """The command on one implementation, in a folder of its own."""

    def __init__(self, target: str, folder: Path, workers: int) -> None:
        self.record, self.report = folder / "run.jsonl", folder / "report.json"
        for path in (self.record, self.report):
            path.unlink(missing_ok=True)
        only = [word for name in OPERATIONS for word in ("--operation", name)]
        command = [sys.executable, "-m", "veriformer.cli", "check", target, *only, "--tier", "quick"]
        self.command = [*command, "--json", str(self.report), "--resume", str(self.record), "--workers", str(workers)]

    def start(self) -> subprocess.Popen[bytes]:
        """Start the command."""
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def finish(self) -> dict[str, Any]:
        """Run the command to its end and return its report."""
        self.start().wait()
        return self.found()

    def found(self) -> dict[str, Any]:
        """Return the report that was written, without times; an empty one where none was."""
        found: dict[str, Any] = (
            without_times(json.loads(self.report.read_text("utf-8"))) if self.report.exists() else {}
        )
        return found

    def passed(self) -> list[str]:
        """Return the laws in the record that need not be tried again, each as often as it is there."""
        text = self.record.read_bytes() if self.record.exists() else b""
        lines = [json.loads(line) for line in text.split(b"\n")[:-1]]
        return [line["law"] for line in lines if line.get("status") in ("passed", "not_declared")]


def without_times(value: Any) -> Any:
    """Return JSON without the seconds that anything took."""
    if isinstance(value, dict):
        return {name: without_times(part) for name, part in value.items() if name != "seconds"}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the worker processes of a run, by their ids; none where this system does not list them in /proc."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        pids = children.read_text().split()
        # The other process of `multiprocessing` counts its resources.
        return [int(pid) for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    except OSError:
        return []


def kill_worker(process: subprocess.Popen[bytes], chance: random.Random) -> bool:
    """Kill one worker of a run that goes on; False where it has none."""
    found = workers_of(process)
    if not found or process.poll() is not None:
        return False
    try:
        os.kill(chance.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def disturbed_worker(trial: Trial, seconds: float, chance: random.Random, row: Row) -> dict[str, Any]:
    """Run to the end while workers are killed, twice at most, and return the report."""
    process, kills = trial.start(), 0
    moments = sorted(chance.uniform(0, seconds) for _ in range(2))
    started = time.monotonic()
    while process.poll() is None:
        if kills < len(moments) and time.monotonic() - started > moments[kills] and kill_worker(process, chance):
            kills += 1
        time.sleep(SECONDS_TO_LOOK)
    row.in_time += kills > 0
    return trial.found()


def disturbed_run(trial: Trial, seconds: float, chance: random.Random, row: Row) -> dict[str, Any]:
    """Kill the run at a random moment, start it again, and return the report."""
    process = trial.start()
    try:
        process.wait(chance.uniform(0, seconds))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        row.in_time += 1
    before = trial.passed()
    row.before += len(before)
    report = trial.finish()
    row.lost += len(set(before) - set(trial.passed()))
    return report


DISTURBANCES = {"a worker": disturbed_worker, "the run": disturbed_run}


def measure(killed: str, target: str, folder: Path, runs: int, seed: int) -> Row:
    """Run one implementation undisturbed, then `runs` times with disturbances."""
    row, chance = Row(killed, Path(target).name), random.Random(f"{seed} {killed} {target}")
    started = time.monotonic()
    whole = Trial(target, folder, 2).finish()
    seconds = time.monotonic() - started
    for number in range(runs):
        # Every second run is one without workers, where that is what is killed.
        trial = Trial(target, folder, 2 if killed == "a worker" or number % 2 else 0)
        report = DISTURBANCES[killed](trial, seconds, chance, row)
        row.runs += 1
        laws = trial.passed()
        row.tried_again += len(laws) - len(set(laws))
        if not report or report != whole:
            row.other_reports.append(f"{killed}, {target}, run {number}")
        print(f"{killed}, {target}: run {number + 1} of {runs}", file=sys.stderr, flush=True)
    return row


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 when anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="how often each is killed (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed chooses the same moments (default 0)")
    asked = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder) / "wrong.py"
        wrong.write_text(WRONG, encoding="utf-8")
        for killed in DISTURBANCES:
            rows += [measure(killed, target, Path(folder), asked.runs, asked.seed) for target in ("numpy", str(wrong))]
    lines = [HEADER, tuple("---" for _ in HEADER), *(row.cells() for row in rows)]
    print("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
    for row in rows:
        print(*(f"\nanother report: {one}" for one in row.other_reports), sep="", end="")
    return 0 if all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
