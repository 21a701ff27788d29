"""The first call of a shape may be compiled, which takes what loading may take; later calls may not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import OperationTimedOut
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.loading import load_isolated

pytestmark = pytest.mark.long

COMPILES = """
import sys
import time
import types
sys.modules.setdefault("numba", types.ModuleType("numba"))
compiled = set()

def softmax(x):
    if x.shape not in compiled:
        compiled.add(x.shape)
        time.sleep(1.0)
    if x[0] == 13:
        time.sleep(60)
    return x
"""


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[Callable[[str], Implementation]]:
    opened = []

    def opening(source: str) -> Implementation:
        (tmp_path / "mine.py").write_text(source)
        opened.append(load_isolated(str(tmp_path / "mine.py"), ProcessLimits(seconds=0.5, compiling=6.0)))
        return opened[-1]

    yield opening
    for implementation in opened:
        implementation.close()


def called(implementation: Implementation, length: int, first: float = 0.0) -> None:
    prepare(implementation, "softmax", {"x": np.full(length, first)}, dtype="float32").run()


def test_each_shape_may_be_compiled_once(isolated: Callable[[str], Implementation]) -> None:
    implementation = isolated(COMPILES)
    for length in (2, 3, 2):
        called(implementation, length)
    with pytest.raises(OperationTimedOut, match=r"within 6 s|within 0.5 s"):
        # A fresh process compiles again, and hangs all the same.
        called(implementation, 2, 13)


def test_what_compiles_nothing_has_the_limit_of_calls(isolated: Callable[[str], Implementation]) -> None:
    implementation = isolated(COMPILES.replace('"numba"', '"no_compiler"'))
    started = time.monotonic()
    with pytest.raises(OperationTimedOut, match=r"within 0.5 s"):
        called(implementation, 2)
    assert time.monotonic() - started < 15


def test_what_hangs_in_every_call_ends_in_bounded_time(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(COMPILES.replace("x[0] == 13", "True"))
    implementation = load_isolated(str(tmp_path / "mine.py"), ProcessLimits(seconds=0.5, compiling=6.0))
    try:
        limits = []
        for length in range(2, 5):
            implementation.forgive("softmax")
            with pytest.raises(OperationTimedOut) as caught:
                called(implementation, length)
            limits.append(caught.value.how)
        assert [how.split()[-2] for how in limits] == ["6", "6", "0.5"]
    finally:
        implementation.close()
