"""Laws tried by several processes: the same report as by one, whatever happens to the processes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import active_children, get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.errors import LoadError
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.run.expected_failures import Entry, ExpectedFailures
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.workers.errors import NotSendable, WorkersLost
from veriformer.conformance_tests.run.workers.processes import ProcessPool
from veriformer.conformance_tests.run.workers.work_items import Assignment, WorkItem, divided, weight
from veriformer.conformance_tests.run.workers.working import try_item

pytestmark = pytest.mark.long

SMALL = ("softmax", "gelu", "causal_mask", "rms_norm", "alibi_bias", "layer_norm")
ASSIGNMENT = Assignment("numpy", "", RunOptions(), run="one")

WRONG = """
import helper
import numpy as np

print("loaded")


def softmax(x):
    print("called")
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def rms_norm(x, gamma, eps):
    return helper.scaled(x / np.sqrt((x.astype(float) ** 2).mean(-1, keepdims=True)), gamma).astype(x.dtype)
"""
HELPER = "def scaled(x, gamma):\n    return x * gamma\n"
FEW = ("softmax.signature", "softmax.value", "softmax.dtype", "gelu.value")
DEADLY = """
import os
import signal
import numpy as np


def softmax(x):
    if x.shape[-1] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gelu(x):
    from math import erf
    return (x * 0.5 * (1 + np.vectorize(erf, otypes=[float])(x / np.sqrt(2)))).astype(x.dtype)
"""


def found(report: Report) -> dict[str, Any]:
    """Return everything that a report says but how long it took."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: timeless(part) for name, part in value.items() if name != "seconds"}
        return [timeless(part) for part in value] if isinstance(value, list) else value

    said: dict[str, Any] = timeless(report_as_json(report))
    return said | {"findings": report.findings}


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    (tmp_path / "helper.py").write_text(HELPER)
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    return str(path)


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    """What is found in one process."""
    return found(check("numpy", operations=SMALL, tier="quick"))


@pytest.mark.parametrize("number", (1, 2))
def test_workers_find_what_one_process_finds(number: int, alone: dict[str, Any]) -> None:
    assert found(check("numpy", operations=SMALL, tier="quick", workers=number)) == alone
    assert active_children() == []


def test_a_wrong_implementation_has_the_same_counterexamples_and_diagnoses(
    wrong: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    alone = check(wrong, operations=SMALL, tier="quick")
    assert alone.counts["failed"] > 4
    assert [diagnosis.operation for diagnosis in alone.diagnoses] == ["softmax", "rms_norm"]
    assert any("softmax printed" in notice for notice in alone.notices)
    monkeypatch.chdir(Path(wrong).parent)
    for number in (1, 2):
        together = check("wrong.py", operations=SMALL, tier="quick", workers=number)
        said = found(replace(together, implementation=alone.implementation, source=alone.source))
        assert said == found(alone)
    # What a file prints while it is loaded is seen once for each run, as without workers.
    assert capfd.readouterr().out.split() == ["loaded"] * 3


@pytest.mark.parametrize("kind", ("threads", "processes"))
def test_any_executor_will_do(kind: str, wrong: str) -> None:
    alone = found(check(wrong, operations=SMALL, tier="quick"))
    executor: Executor = ThreadPoolExecutor(2)
    if kind == "processes":
        executor = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    with executor:
        assert found(check(wrong, operations=SMALL, tier="quick", executor=executor)) == alone
        # It is the caller's, and takes more work afterwards.
        assert executor.submit(len, "abc").result() == 3


def test_an_executor_that_is_closed_is_told_in_one_sentence() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(WorkersLost, match="the executor takes no more work"):
        check("numpy", operations=("softmax",), tier="quick", executor=executor)


def test_an_executor_whose_process_dies_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "deadly.py").write_text(DEADLY)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor,
        pytest.raises(WorkersLost, match=r"BrokenProcessPool.*give a number of workers"),
    ):
        check(str(tmp_path / "deadly.py"), laws=FEW, tier="quick", executor=executor)


def test_an_object_cannot_be_sent() -> None:
    with pytest.raises(NotSendable, match=r"an object \(SimpleNamespace\); give a built-in name, a .py file"):
        check(SimpleNamespace(softmax=np.exp), operations=("softmax",), workers=1)


def test_a_file_that_differs_for_a_worker_is_refused(wrong: str) -> None:
    with _Editing(Path(wrong)) as executor, pytest.raises(LoadError, match="a worker has another version"):
        check(wrong, operations=("softmax",), executor=executor)


class _Editing(ThreadPoolExecutor):
    """An executor before whose work a file is edited."""

    def __init__(self, path: Path) -> None:
        super().__init__(1)
        self.path = path

    def submit(self, *arguments: Any, **named: Any) -> Any:
        if not self.path.read_text().endswith("# edited\n"):
            self.path.write_text(WRONG + "# edited\n")
        return super().submit(*arguments, **named)


# Work items


def test_work_items_have_every_law_once_and_the_dear_ones_come_first() -> None:
    items = divided(laws().values(), ASSIGNMENT, 2)
    assert Counter(law for item in items for law in item.laws) == Counter(list(laws()))
    costs = [sum(weight(laws()[law]) for law in item.laws) for item in items]
    assert costs == sorted(costs, reverse=True)
    # Two workers end at about the same time: the last item is short, and none is a large part of the whole.
    assert max(costs) < sum(costs) / 10
    assert all(len({law.partition(".")[0] for law in item.laws}) == 1 for item in items)


def test_a_run_that_ends_early_has_revealing_items_first() -> None:
    (first, *_) = divided(laws().values(), replace(ASSIGNMENT, options=RunOptions(fail_fast=True)), 2)
    assert (
        first.laws[0]
        == divided(reversed(laws().values()), replace(ASSIGNMENT, options=RunOptions(fail_fast=True)), 8)[0].laws[0]
    )


def test_a_worker_goes_on_with_an_operation_that_it_knows() -> None:
    softmax, gelu, other = (WorkItem(ASSIGNMENT, (law,)) for law in ("softmax.shape", "gelu.value", "softmax.value"))
    with ProcessPool(2) as workers:
        waiting = [softmax, other, gelu]
        workers.submit_one(waiting)
        # The second worker takes what the first does not know yet.
        workers.submit_one(waiting)
        assert waiting == [other]
        assert not workers.has_room
        # The first to end is offered the rest: nobody waits for the one that knows it.
        workers.wait()
        workers.submit_one(waiting)
        assert waiting == []


def test_no_law_makes_no_item() -> None:
    assert divided((), ASSIGNMENT, 2) == []


# Ends


def test_the_first_violation_that_comes_in_ends_the_run(wrong: str) -> None:
    report = check(wrong, operations=SMALL, tier="quick", workers=2, fail_fast=True)
    broken = [result for result in report.results if result.status == "failed"]
    assert len(broken) == 1
    assert any("ended at the first violation" in notice for notice in report.notices)


def test_an_expected_failure_does_not_end_it(wrong: str) -> None:
    every = check(wrong, operations=("softmax",), tier="quick", diagnosis=False)
    entries = tuple(Entry(result.law.id, "known") for result in every.results if result.status == "failed")
    known = ExpectedFailures(entries)
    report = check(wrong, operations=("softmax",), tier="quick", workers=2, fail_fast=True, expected_failures=known)
    assert report.verdict == "conforms"
    assert len(report.results) == len(every.results)


def test_a_law_that_kills_its_process_is_found_and_the_others_are_judged(tmp_path: Path) -> None:
    (tmp_path / "deadly.py").write_text(DEADLY)
    report = check(str(tmp_path / "deadly.py"), laws=FEW, tier="quick", workers=2)
    statuses = {result.law.id: result.status for result in report.results}
    deadly = [result for result in report.results if result.status == "error"]
    assert deadly
    assert statuses["softmax.signature"] == statuses["gelu.value"] == "passed"
    reason = "the process that tried it ended without a result, 2 times (SIGKILL)"
    assert {result.reason for result in deadly} == {reason}
    assert {result.law.operation.name for result in deadly} == {"softmax"}
    assert report.diagnoses == ()


@pytest.mark.parametrize("seed", range(3))
def test_killed_workers_lose_nothing(seed: int, alone: dict[str, Any]) -> None:
    with _killing(seed) as killed:
        report = check("numpy", operations=SMALL, tier="quick", workers=2)
    assert found(report) == alone
    assert killed


@contextmanager
def _killing(seed: int) -> Iterator[list[int]]:
    """Kill a worker at random moments, the first soon after it was started; give the list of those that were."""
    chance, killed, over = random.Random(seed), list[int](), threading.Event()

    def kill() -> None:
        while len(killed) < 2 and not over.wait(chance.uniform(0.05, 0.8) if killed else chance.uniform(0.001, 0.05)):
            for child in active_children()[:1]:
                child.kill()
                killed.append(child.pid or 0)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def test_an_interrupted_run_leaves_no_process() -> None:
    def interrupt(_: object) -> None:
        if active_children():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("numpy", operations=SMALL, tier="quick", workers=2, progress=interrupt)
    assert active_children() == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
def test_workers_end_when_the_run_is_killed(tmp_path: Path) -> None:
    script = "from veriformer.conformance_tests import check\nif __name__ == '__main__': check('numpy', workers=2)\n"
    (tmp_path / "script.py").write_text(script)
    run = subprocess.Popen([sys.executable, str(tmp_path / "script.py")], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while len(children := _children(run.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(children) >= 2
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    deadline = time.monotonic() + 60
    while any(_lives(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_lives(child) for child in children)


def _children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_script_without_a_guard_is_told_what_it_lacks(tmp_path: Path) -> None:
    script = (
        "from veriformer.conformance_tests import check\n"
        "try:\n    check('numpy', operations=('softmax',), workers=2)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n    raise SystemExit(1)\n"
    )
    (tmp_path / "script.py").write_text(script)
    command = [sys.executable, str(tmp_path / "script.py")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "WorkersLost 3 worker processes ended before they began" in ended.stdout
    assert '`if __name__ == "__main__":`' in ended.stdout


def test_a_number_of_workers_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="the number of workers is -1"):
        ProcessPool(-1)


def test_what_fails_in_veriformer_itself_is_returned_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    from veriformer.conformance_tests.run.workers import working

    def defective(_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(working, "_run_of", defective)
    (item, *_) = divided(laws().values(), ASSIGNMENT, 2)
    assert "ZeroDivisionError: ours" in try_item(item).defect


HANGING = """
import time


def softmax(x):
    time.sleep(60)


def gelu(x):
    return x
"""


def test_each_worker_isolates_a_file(tmp_path: Path) -> None:
    path = tmp_path / "hanging.py"
    path.write_text(HANGING)
    report = check(str(path), laws=FEW, tier="quick", workers=2, isolate=True, time_limit=0.5, diagnosis=False)
    found = {result.law.id: result for result in report.results}
    assert "did not return within 0.5 s" in found["softmax.value"].reason
    assert found["gelu.value"].status == "failed"
