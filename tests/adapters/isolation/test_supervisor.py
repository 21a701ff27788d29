"""The suite's side of a worker: which replies it takes, and that no worker outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.isolation.frames import Frame
from veriformer.adapters.isolation.loading import load_isolated
from veriformer.adapters.isolation.process import INTERFERED, WorkerLost
from veriformer.adapters.isolation.supervisor import _answer

IGNORES_SIGNALS = """
import os
import signal
import time

def softmax(x):
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    open(PLACE, "w").write(str(os.getpid()))
    time.sleep(60)
"""


def test_the_reply_to_the_request_is_taken() -> None:
    frame = Frame({"number": 3})
    assert _answer(frame, 3) is frame


@pytest.mark.parametrize("header", [{}, {"number": None}, {"number": 1}, {"number": False}, {"number": 0.0}])
def test_a_reply_to_nothing_that_was_asked_is_refused(header: dict[str, Any]) -> None:
    with pytest.raises(WorkerLost) as caught:
        _answer(Frame(header), 0)
    assert caught.value.how == INTERFERED


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a process with its parent")
def test_a_worker_that_ignores_signals_ends_with_a_suite_that_is_killed(tmp_path: Path) -> None:
    told, path = tmp_path / "worker", tmp_path / "mine.py"
    path.write_text(f"PLACE = {str(told)!r}\n{IGNORES_SIGNALS}")
    script = (
        "import numpy as np\n"
        "from veriformer.adapters.calling import prepare\n"
        "from veriformer.adapters.isolation.loading import load_isolated\n"
        f"found = load_isolated({str(path)!r})\n"
        "prepare(found, 'softmax', {'x': np.ones(2)}, dtype='float32').run()\n"
    )
    suite = subprocess.Popen([sys.executable, "-c", script])
    try:
        worker = _number_in(told)
    finally:
        suite.send_signal(signal.SIGKILL)
        suite.wait()
    assert _ends(worker)


def test_a_worker_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def softmax(x):\n    return x\n")
    found = []
    starting = threading.Thread(target=lambda: found.append(load_isolated(str(tmp_path / "mine.py"))))
    starting.start()
    starting.join()
    time.sleep(0.2)
    try:
        result = prepare(found[0], "softmax", {"x": np.ones(2)}, dtype="float32").run()
    finally:
        found[0].close()
    assert result.value.tolist() == [1.0, 1.0]


def _number_in(path: Path) -> int:
    for _ in range(600):
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.05)
    raise TimeoutError(path)


def _ends(process: int) -> bool:
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        # Nobody may be there to wait for it: then it is left as a mere entry.
        if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
            return True
        time.sleep(0.05)
    os.kill(process, signal.SIGKILL)
    return False
