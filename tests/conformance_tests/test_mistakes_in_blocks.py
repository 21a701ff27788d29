"""Mistakes in encoder and decoder layers: one line changed, and each law that names it fails on a small case."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.cases.layer_case import LayerCase
from veriformer.spec.laws import LAWS, layers

HERE = Path(__file__).parent
MISTAKES: list[dict[str, Any]] = tomllib.loads((HERE / "planted/layers.toml").read_text("utf-8"))["mistake"]
OPERATIONS = ("encoder_layer", "decoder_layer")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake["slug"])
def test_each_law_that_names_the_mistake_fails_on_a_small_case(mistake: dict[str, Any], tmp_path: Path) -> None:
    text = (HERE / "sources" / f"{mistake['source']}.py").read_text(encoding="utf-8")
    assert text.count(mistake["right"]) == 1, f"{mistake['right']!r} must occur once in the source"
    path = tmp_path / "my_blocks.py"
    path.write_text(text.replace(mistake["right"], mistake["wrong"]), encoding="utf-8")
    with np.errstate(all="ignore"):
        report = check(str(path), laws=tuple(mistake["laws"]))
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(mistake["laws"], "failed")
    for result in report.results:
        assert result.counterexample is not None
        case = result.counterexample.case
        assert isinstance(case, LayerCase)
        assert max(case.batch, case.heads, case.length) <= 3, case.describe()
        assert max(case.memory, case.hidden, case.d_model) <= 6, case.describe()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_law_of_their_own_catches_a_mistake(operation: str) -> None:
    """Those that every operation has are tried elsewhere."""
    caught = {law for mistake in MISTAKES for law in mistake["laws"]}
    own = layers.ENCODER_LAYER_LAWS if operation == "encoder_layer" else layers.DECODER_LAYER_LAWS
    stated = {law.id for law in LAWS.values() if law.operation.name == operation and law.claim in own}
    assert stated - caught == set()


@pytest.mark.parametrize("seed", range(2))
def test_the_file_without_a_mistake_conforms(seed: int) -> None:
    report = check(str(HERE / "sources/blocks_numpy.py"), seed=seed, tier="quick")
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    assert report.counts["passed"] >= 60


@pytest.mark.parametrize(("name", "seeds"), [("numpy", 2), ("torch", 2)])
def test_the_built_in_implementations_conform(name: str, seeds: int) -> None:
    pytest.importorskip(name)
    for seed in range(seeds):
        report = check(name, operations=OPERATIONS, tier="quick", seed=seed)
        assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
        assert report.counts["passed"] >= 60
