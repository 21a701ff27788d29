"""Files that build something as they are imported, and calls that are slow in every process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import LoadError, OperationTimedOut
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.loading import load_isolated

# As torch builds an extension: a lock, a compiler in a process of its own, and the lock removed in any case.
BUILDS = """
import os
import pathlib
import subprocess

lock = pathlib.Path(FOLDER) / "lock"
lock.touch()
try:
    compiler = subprocess.Popen(["sleep", "60"])
    (pathlib.Path(FOLDER) / "compiler").write_text(str(compiler.pid))
    compiler.wait()
finally:
    lock.unlink()


def softmax(x):
    return x
"""
SLOW = """
import sys
import time

sys.modules["numba"] = sys


def softmax(x):
    time.sleep(0.01 * x.size)
    return x
"""


def test_an_import_that_takes_too_long_leaves_no_lock_and_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BUILDS.replace("FOLDER", repr(str(tmp_path))))
    with pytest.raises(LoadError, match=r"did not end within 3 s \(--import-limit allows more\)"):
        load_isolated(str(tmp_path / "mine.py"), ProcessLimits(loading=3.0))
    assert not (tmp_path / "lock").exists()
    assert _ends(int((tmp_path / "compiler").read_text()))


def test_the_limit_of_imports_is_one_of_its_own() -> None:
    limits = ProcessLimits().changed(None, None, 500.0)
    assert limits.loading == 500.0
    assert (limits.seconds, limits.compiling) == (ProcessLimits.seconds, ProcessLimits.compiling)


@pytest.mark.parametrize("entries", [60, 90])
def test_a_slow_call_is_not_said_to_leave_something_behind(entries: int, tmp_path: Path) -> None:
    """In a fresh process the first call may take a minute, because it may be compiled; that proves nothing."""
    (tmp_path / "mine.py").write_text(SLOW)
    implementation = load_isolated(str(tmp_path / "mine.py"), ProcessLimits(seconds=0.4, compiling=20.0))
    try:
        for length in (2, entries):
            # The first call of each size is awaited.
            prepare(implementation, "softmax", {"x": np.zeros(length)}, dtype="float64").run()
        with pytest.raises(OperationTimedOut, match=r"within 0.4 s"):
            prepare(implementation, "softmax", {"x": np.zeros(entries)}, dtype="float64").run()
        assert not implementation.not_survived("softmax")
    finally:
        implementation.close()


def _ends(number: int) -> bool:
    for _ in range(50):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{number}/stat").exists() and Path(f"/proc/{number}/stat").read_text().split()[2] == "Z":
            return True
        time.sleep(0.1)
    return False
