"""Mistakes in windows, soft caps, sinks and merging, planted one at a time, are caught by the law that names them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check

HERE = Path(__file__).parent
MISTAKES: list[dict[str, Any]] = tomllib.loads((HERE / "planted/modern_attention.toml").read_text(encoding="utf-8"))[
    "mistake"
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake['slug']}-{mistake['laws'][0]}")
def test_the_first_law_that_names_the_mistake_fails_on_a_small_case(mistake: dict[str, Any], tmp_path: Path) -> None:
    text = (HERE / "sources" / f"{mistake['source']}.py").read_text(encoding="utf-8")
    assert text.count(mistake["right"]) == 1
    path = tmp_path / "my_attention.py"
    path.write_text(text.replace(mistake["right"], mistake["wrong"]), encoding="utf-8")
    with np.errstate(all="ignore"):
        report = check(str(path), laws=(mistake["laws"][0],))
    (result,) = report.results
    assert result.status == "failed"
    assert result.counterexample is not None
    assert np.asarray(result.counterexample.verdict.wrong).any()
    assert result.counterexample.case.size <= 16, result.counterexample.case.describe()


def test_the_file_without_a_mistake_conforms() -> None:
    report = check(str(HERE / "sources/modern_attention_numpy.py"), tier="quick")
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
