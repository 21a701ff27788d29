"""Mistakes in whole Transformers: one change to a correct file, and each law that names the mistake fails."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from veriformer.conformance_tests import check, search
from veriformer.conformance_tests.cases.models import ModelCase

HERE = Path(__file__).parent
MISTAKES = tomllib.loads((HERE / "planted/models.toml").read_text(encoding="utf-8"))["mistake"]
LARGEST = {"batch": 3, "length": 5, "source_length": 4, "width": 4, "hidden": 7, "layers": 2, "vocabulary": 5}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake['laws'][0]}-{mistake['slug']}")
def test_each_law_that_names_the_mistake_fails_on_a_small_case(
    mistake: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SHRINKING_SECONDS", 3.0)
    text = (HERE / "sources" / f"{mistake['source']}.py").read_text(encoding="utf-8")
    assert text.count(str(mistake["right"])) == 1
    path = tmp_path / "my_model.py"
    path.write_text(text.replace(str(mistake["right"]), str(mistake["wrong"])), encoding="utf-8")
    laws = tuple(map(str, mistake["laws"]))  # type: ignore[call-overload]
    report = check(str(path), laws=laws)
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(laws, "failed")
    for result in report.results:
        assert result.counterexample is not None
        for name, most in LARGEST.items():
            if isinstance(result.counterexample.case, ModelCase):
                assert getattr(result.counterexample.case, name) <= most, result.counterexample.case
