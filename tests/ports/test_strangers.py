"""Ports as people outside the project write them: correct ones agree, and what was mended for them is found."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.ports.compare_models import compare_models
from veriformer.conformance_tests.ports.findings import PortComparison

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent / "strangers"


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("transformers")
    pytest.importorskip("jax")
    pytest.importorskip("flax")
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in [one.stem for one in FOLDER.glob("*.py")]:
        sys.modules.pop(name, None)


def compared(source: str, port: str) -> PortComparison:
    return compare_models(f"{FOLDER / source}.py:build", f"{FOLDER / port}.py:build")


@pytest.mark.parametrize(
    ("source", "port"),
    [
        ("qwen2_hf", "qwen2_torch"),
        ("phi_hf", "phi_torch"),
        ("opt_hf", "opt_numpy"),
        ("bloom_hf", "bloom_torch"),
        ("mixtral_hf", "mixtral_torch"),
        ("seq2seq_torch", "seq2seq_numpy"),
    ],
)
def test_a_correct_port_agrees(source: str, port: str) -> None:
    found = compared(source, port)
    assert found.verdict == "agree"
    assert not found.differences
    assert not found.inside


def test_positions_first_are_told_without_a_fused_attention() -> None:
    found = compared("seq2seq_torch", "seq2seq_numpy")
    assert {pair.status for pair in found.pairs} == {"same"}


def test_the_gain_of_the_norm_of_queries_is_compared() -> None:
    source, (forward, weights) = import_module("qwen3_hf").build(), import_module("qwen3_jax").build()
    layer: dict[str, Any] = weights["layers"][0]
    layer["attn"]["q_norm"] = layer["attn"]["k_norm"] + 0.0
    found = compare_models(source, (forward, weights), np.random.default_rng(0).integers(0, 83, (2, 9)))
    (first, *_) = found.differences
    assert (first.path_a, first.cause.name) == ("model.layers.0.self_attn.q_norm.weight", "elsewhere")
    assert first.path_b.endswith("q_norm")
