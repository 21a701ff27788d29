"""The layers that docs/examples writes out, as a user would, obey the laws."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from veriformer.conformance_tests import check

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
# JAX compiles for each shape, a second for every two laws: these have every part of a layer between them.
FEW = (
    "*_layer.post_norm.value",
    "encoder_layer.padding.left",
    "encoder_layer.tokens.*",
    "decoder_layer.causal.prefix",
    "decoder_layer.memory.p*",
)


@cache
def example(framework: str) -> ModuleType:
    """Import an example once, for all tests."""
    pytest.importorskip(framework)
    path = EXAMPLES / f"layers_{framework}.py"
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("framework", "laws", "least"), [("torch", None, 45), pytest.param("jax", FEW, 6, marks=pytest.mark.long)]
)
def test_the_example_obeys_the_laws(framework: str, laws: tuple[str, ...] | None, least: int) -> None:
    report = check(example(framework), laws=laws, tier="quick")
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    assert report.counts["passed"] >= least


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_an_example_imports_nothing_of_veriformer(framework: str) -> None:
    assert "veriformer" not in (EXAMPLES / f"layers_{framework}.py").read_text(encoding="utf-8")
