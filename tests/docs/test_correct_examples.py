"""Twenty attentions that are right, each written in another way: no law is broken, whatever the convention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from veriformer.conformance_tests import check

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples" / "correct"
FILES = sorted(FOLDER.glob("*.py"))
TWENTY = 20
# Compiling makes JAX slow: the laws that most depend on how attention is written. `benchmarks/false_alarms.py` has all.
OF_COMPILED = tuple(
    f"attention.{law}" for law in ("value*", "scale*", "mask.value", "mask.empty_row", "causal.explicit_mask")
)


def test_there_are_twenty_in_three_frameworks() -> None:
    assert len(FILES) == TWENTY
    assert {file.stem.partition("_")[0] for file in FILES} == {"numpy", "torch", "jax"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_law_is_broken(file: Path) -> None:
    framework = file.stem.partition("_")[0]
    if framework != "numpy":
        pytest.importorskip(framework)
    with np.errstate(all="ignore"):
        report = check(str(file), tier="quick", laws=OF_COMPILED if framework == "jax" else None)
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    assert report.counts["passed"] > (5 if framework == "jax" else 50)
