"""Programs that are right, each written in another way: no law is broken, whatever the convention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

pytestmark = pytest.mark.long

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples" / "correct"
FILES = sorted(FOLDER.glob("*.py"))
FORTY = 40
# Compiling makes JAX slow: the laws that most depend on how a program is written. `benchmarks/false_alarms.py` has all.
OF_COMPILED = (
    *(f"attention.{law}" for law in ("single_key", "scale*", "mask.value", "mask.empty_row", "causal.explicit_mask")),
    *("grouped_query.repeated_heads", "language_model.architecture.llama", "cross_entropy.smoothing.value"),
    *(f"{operation}.value" for operation in ("softmax", "silu", "layer_norm", "rms_norm", "rotary", "cross_entropy")),
)


def test_there_are_forty_in_three_frameworks() -> None:
    assert len(FILES) == FORTY
    assert {file.stem.partition("_")[0] for file in FILES} == {"numpy", "torch", "jax"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_law_is_broken(file: Path) -> None:
    framework = file.stem.partition("_")[0]
    if framework != "numpy":
        pytest.importorskip(framework)
    with np.errstate(all="ignore"):
        report = check(str(file), tier="quick", laws=OF_COMPILED if framework == "jax" else None)
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    implementation = load(str(file))
    own = set(implementation.operations) - set(implementation.derived)
    assert own <= {result.law.operation.name for result in report.results if result.status == "passed"}
