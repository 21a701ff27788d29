"""A run that is killed, and started again, loses nothing: a few repetitions of what the benchmark does twenty times."""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.long

# Long enough for most runs to be killed in their middle; one that ends before is repeated all the same.
SECONDS = 4.0


@pytest.mark.parametrize("workers", (0, 2))
def test_a_killed_run_goes_on_and_ends_with_the_report_of_an_undisturbed_one(
    benchmark: ModuleType, tmp_path: Path, workers: int
) -> None:
    (tmp_path / "wrong.py").write_text(benchmark.WRONG)
    target = str(tmp_path / "wrong.py")
    whole = benchmark.Trial(target, tmp_path, 0).finish()
    assert whole["counts"]["failed"] > 0
    row, chance = benchmark.Row("the run", "wrong.py"), random.Random(workers)
    for _ in range(2):
        report = benchmark.disturbed_run(benchmark.Trial(target, tmp_path, workers), SECONDS, chance, row)
        assert report == whole
    assert row.lost == 0


def test_nothing_killed_is_no_success(benchmark: ModuleType) -> None:
    row = benchmark.Row("the run", "numpy", runs=3)
    assert not row.is_good
    row.in_time = 3
    assert row.is_good
    row.lost = 1
    assert not row.is_good
