"""A model in a process of its own: recorded, or lost with one sentence."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.capture.captured import capture_model
from veriformer.adapters.capture.isolated import MODEL_LIMITS, IsolatedModel
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.errors import CaptureError, LoadError, NotAModel
from veriformer.adapters.isolation.limits import GIBIBYTE, ProcessLimits


def capture_isolated(
    source: str, *, seed: int, limits: ProcessLimits = MODEL_LIMITS, printed: Callable[[str], None] = str
) -> Trace:
    model = IsolatedModel(source, limits)
    try:
        model.build()
        return model.record(seed)
    finally:
        printed(model.printed())
        model.close()


SOURCE = """
import os
import sys
import time
from sizes import WIDTH
import torch
from torch import nn

class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(17, WIDTH)
        self.drop = nn.Dropout(0.5)

    def forward(self, tokens):
        import late
        print("running")
        return late.twice(self.drop(self.table(tokens)))

def of(act):
    class Acting(Tiny):
        def forward(self, tokens):
            act()
    return Acting()

def eat():
    kept = []
    while True:
        kept.append(torch.ones(2**25))

def hangs(): return of(lambda: time.sleep(1000))
def crashes(): return of(lambda: os.kill(os.getpid(), 11))
def leaves(): return of(lambda: os._exit(7))
def exits(): return of(lambda: sys.exit(3))
def eats(): return of(eat)
def closes(): return of(lambda: os.closerange(3, 100))
def builds_forever(): time.sleep(1000)
def builds_too_much(): eat()
def softmax(x): return x
"""


@pytest.fixture
def place(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "sizes.py").write_text("WIDTH = 6")
    (tmp_path / "late.py").write_text("def twice(x): return 2 * x")
    return str(tmp_path / "mine.py")


def limits(seconds: float = 30, loading: float = 60) -> ProcessLimits:
    return ProcessLimits(seconds=seconds, memory=GIBIBYTE * 3 // 2, loading=loading)


def refusal(source: str, **allowed: float) -> str:
    with pytest.raises(CaptureError) as caught:
        capture_isolated(source, seed=1, limits=limits(**allowed))
    sentence = str(caught.value)
    assert sentence.startswith(source) and "\n" not in sentence
    return sentence.removeprefix(source)


def results(trace: Trace) -> list[np.ndarray]:
    return [value.array for value in trace.values]


def test_the_same_as_in_this_process(place):
    printed: list[str] = []
    trace = capture_isolated(f"{place}:Tiny", seed=1, printed=printed.append)
    here = capture_model(f"{place}:Tiny", seed=1)
    assert trace.steps == here.steps and trace.notes == here.notes and trace.dtype == "float64"
    for one, other in zip(results(trace), results(here), strict=True):
        np.testing.assert_array_equal(one, other)
    assert "running" in "".join(printed)
    assert {step.file for step in trace.steps} == {place, str(Path(place).with_name("late.py"))}


def test_memory_enough_for_gpt2_small():
    assert MODEL_LIMITS.memory == 6 * GIBIBYTE


def test_a_model_that_hangs(place):
    start = time.monotonic()
    assert "running it did not end within 2 s" in refusal(f"{place}:hangs", seconds=2)
    assert "importing and building it did not end within 3 s" in refusal(f"{place}:builds_forever", loading=3)
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("crashes", "running it ended its process by SIGSEGV"),
        ("leaves", "running it ended its process with status 7"),
        ("exits", "running it raised SystemExit: 3"),
    ],
)
def test_a_model_that_ends_its_process(place, name, how):
    assert how in refusal(f"{place}:{name}")


def test_a_model_that_closes_the_pipe_is_named_by_what_is_seen_of_it(place):
    """The process may end by itself before it is looked at."""
    told = refusal(f"{place}:closes")
    assert "running it closed the pipe" in told or "running it ended its process with status" in told


@pytest.mark.parametrize(("name", "what"), [("eats", "running it"), ("builds_too_much", "importing and building it")])
def test_a_model_that_needs_too_much_memory(place, name, what):
    sentence = refusal(f"{place}:{name}")
    assert f"{what} needs more than the 1.5 GiB of memory" in sentence and "--memory-limit" in sentence


def test_the_kind_of_an_error_comes_back(place):
    with pytest.raises(NotAModel, match="as an implementation"):
        capture_isolated(f"{place}:softmax", seed=1)
    with pytest.raises(LoadError, match="no object 'none'") as caught:
        capture_isolated(f"{place}:none", seed=1)
    assert type(caught.value) is LoadError


def test_nothing_is_left_behind(place, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = set(os.listdir("/proc/self/fd"))
    capture_isolated(f"{place}:Tiny", seed=1)
    refusal(f"{place}:crashes")
    assert list(temporary.iterdir()) == [] and len(os.listdir("/proc/self/fd")) <= len(before)
