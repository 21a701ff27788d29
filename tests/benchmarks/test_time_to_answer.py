"""The benchmark of the processor time that an answer takes."""

from __future__ import annotations

import sys
import time
from types import ModuleType

import pytest

_WORKS = "import time\nwhile time.process_time() < 0.4: pass"


def test_time_is_that_of_the_processor_and_not_of_the_clock(benchmark: ModuleType) -> None:
    started = time.monotonic()
    status, waiting = benchmark.processor_time((sys.executable, "-c", "import time; time.sleep(1.0)"))
    assert status == 0 and waiting < 0.9 < time.monotonic() - started
    assert benchmark.processor_time((sys.executable, "-c", _WORKS))[1] >= 0.4


def test_the_work_of_a_process_that_was_started_counts(benchmark: ModuleType) -> None:
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_WORKS!r}], check=True)"
    assert benchmark.processor_time((sys.executable, "-c", starts))[1] >= 0.4


def test_what_is_measured_exists_and_is_an_operation(benchmark: ModuleType) -> None:
    for one in benchmark.wrong_functions():
        assert (benchmark._FOLDER / one.file).is_file()


def test_a_median_above_the_limit_is_said(benchmark: ModuleType) -> None:
    slow = benchmark.Wrong("a.py", "torch", 5.0, seconds=[4.0, 6.0, 7.0], importing=[2.0, 2.0, 2.0])
    assert not slow.is_within_limit
    assert "| `a.py` | 3 | 6.0 s | 4.0 s | 5 s | 3.0 |" in benchmark.markdown([slow])
    assert benchmark.Wrong("a.py", "torch", None, seconds=[9.0], importing=[1.0]).is_within_limit


def test_a_wrong_function_that_passes_is_no_measurement(benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "processor_time", lambda _: (0, 1.0))
    with pytest.raises(ValueError, match="ended with 0"):
        benchmark.wrong_functions()[0].measure()
