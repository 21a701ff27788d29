"""What is found, and what it is called, does not depend on how busy the machine is: work is counted, not timed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.selection import Effort
from veriformer.conformance_tests.core.work import RUNAWAY_SECONDS
from veriformer.conformance_tests.diagnosis import work
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.run.report import Report
from veriformer.conformance_tests.search import search

pytestmark = pytest.mark.long

# Two mistakes in the first operation, so that single ones explain nothing and pairs are searched.
IN_NUMPY = """
import numpy as np


def layer_norm(x, gamma, beta, eps):
    spread = x.std(axis=-1, keepdims=True, ddof=1 if x.shape[-1] > 1 else 0)
    return ((x - x.mean(axis=-1, keepdims=True)) / (spread + eps) * gamma + beta).astype(x.dtype)


def gelu(x):
    return (x / (1 + np.exp(-1.5 * x))).astype(x.dtype)
"""
IN_TORCH = """
import torch

framework = "torch"


def rms_norm(x, gamma, eps):
    return x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) + eps) * gamma


def softmax(x):
    return torch.exp(x) / torch.exp(x).sum(dim=0, keepdim=True)
"""
PROGRAMS = {"numpy": IN_NUMPY, "torch": IN_TORCH}
TIERS: tuple[Effort, ...] = ("quick", "standard", "thorough")
# Few laws, of the first of which each program breaks all: a search for a counterexample and for the mistake.
LAWS = ("*.value", "*.batch*", "rms_norm.s*", "layer_norm.s*")
BURN = "while True: pass"
# So much faster the clock runs than it does on an idle machine; the guard against slow calls is longer than that.
FASTER = 50.0


def said(report: Report) -> Any:
    """Return all that a report says as JSON but the seconds."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: timeless(part) for name, part in value.items() if name != "seconds"}
        return [timeless(part) for part in value] if isinstance(value, list) else value

    return timeless(report_as_json(report))


@contextmanager
def load() -> Iterator[None]:
    """Keep the processors busy meanwhile."""
    burning = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(2)]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


@pytest.fixture
def program(framework: str, tmp_path: Path) -> str:
    if framework != "numpy":
        pytest.importorskip(framework)
    path = tmp_path / f"my_{framework}.py"
    path.write_text(PROGRAMS[framework])
    return str(path)


def checked(program: str, tier: Effort, **options: Any) -> Any:
    with np.errstate(all="ignore"):
        return said(check(program, laws=LAWS, tier=tier, **options))


@pytest.mark.parametrize("framework", PROGRAMS)
@pytest.mark.parametrize("tier", TIERS)
def test_a_report_is_the_same_by_another_clock(program: str, tier: Effort, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = checked(program, tier)
    assert idle["counts"]["failed"] > 1
    assert idle["diagnosis"]
    for name in ("monotonic", "process_time"):
        clock = getattr(time, name)
        monkeypatch.setattr(time, name, lambda clock=clock: FASTER * clock())
    for module in (search, work):
        monkeypatch.setattr(module, "RUNAWAY_SECONDS", FASTER * RUNAWAY_SECONDS)
    assert checked(program, tier) == idle


@pytest.mark.parametrize(
    ("framework", "tier", "workers"),
    [("numpy", "quick", 0), ("numpy", "standard", 1), ("numpy", "thorough", 2), ("torch", "quick", 2)],
)
def test_a_report_is_the_same_under_load_and_by_workers(program: str, tier: Effort, workers: int) -> None:
    idle = checked(program, tier)
    with load():
        assert checked(program, tier, workers=workers) == idle


def test_a_diagnosis_that_the_clock_ended_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "RUNAWAY_SECONDS", 0.0)
    path = tmp_path / "my_attention.py"
    path.write_text(IN_NUMPY)
    report = check(str(path), operations=("layer_norm",), tier="quick")
    unfinished = "the search for the mistake in layer_norm was stopped after 60 s because the calls are slow"
    assert unfinished in report.notices
