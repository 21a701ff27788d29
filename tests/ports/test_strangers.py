"""Ports as people outside the project write them: correct ones agree, and what was mended for them is found."""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.ports.compare_models import compare_models
from veriformer.conformance_tests.ports.comparing import Comparing
from veriformer.conformance_tests.ports.findings import PortComparison
from veriformer.conformance_tests.ports.recording import both_recorded, recordable

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent / "strangers"
_FAULTS: list[dict[str, Any]] = tomllib.loads((FOLDER / "faults.toml").read_text(encoding="utf-8"))["fault"]
# Ports that are compared fast, and what they are ports of.
_FAST = {
    "gemma_torch": "gemma_hf",
    "roberta_numpy": "roberta_hf",
    "clip_torch": "clip_hf",
    "cohere_torch": "cohere_hf",
    "translate_own": "translate_torch",
}


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
        # A gain that the source alone rounds to float32.
        ("gemma_hf", "gemma_torch"),
        # A GELU whose last step is a factor, and the row of the only segment taken by itself.
        ("roberta_hf", "roberta_numpy"),
        # A source with two results, of which a run returns the other one.
        ("clip_hf", "clip_torch"),
        ("translate_torch", "translate_own"),
    ],
)
def test_a_correct_port_agrees(source: str, port: str) -> None:
    found = compared(source, port)
    assert found.verdict == "agree"
    assert not found.differences
    assert not found.inside


def test_a_network_computed_before_the_attention_beside_it_is_no_other_part() -> None:
    targets = (f"{FOLDER / 'falcon_hf'}.py:build", f"{FOLDER / 'falcon_nnx'}.py:build")
    with recordable(targets, (None, None)) as models:
        traces = both_recorded(models[0], models[1])
    # One pass is enough to see it.
    found = Comparing("A", traces[0], "B", traces[1]).result()
    assert found.verdict == "agree"
    assert {pair.status for pair in found.pairs} == {"same"}


@pytest.mark.parametrize(
    ("note", "name"),
    [
        ("The exact GELU.", "gelu_tanh_vs_erf"),
        ("The positions count from zero.", "learned_position_offset_wrong"),
        ("The vector of the only segment is forgotten.", "token_type"),
        ("The residual is taken behind the norm.", "prenorm_residual_after_norm"),
        ("The logits are not scaled.", "scaled"),
        ("The memory is not normed.", "missing_final_norm_prenorm"),
        ("The cross-attention reads the decoder itself.", "cross_attn_uses_decoder_states"),
    ],
)
def test_what_was_mended_is_named(note: str, name: str, tmp_path: Path) -> None:
    fault = next(one for one in _FAULTS if one["note"] == note and one["pair"] in _FAST)
    for file in FOLDER.glob("*.py"):
        shutil.copy(file, tmp_path)
    port = tmp_path / f"{fault['pair']}.py"
    text = port.read_text(encoding="utf-8")
    assert text.count(fault["find"]) == 1
    port.write_text(text.replace(fault["find"], fault["replace"]), encoding="utf-8")
    found = compare_models(f"{tmp_path / _FAST[fault['pair']]}.py:build", f"{port}:build")
    assert found.verdict == "differ"
    first = found.differences[0]
    assert first.cause.name == name
    assert any(part in first.path_a or part in first.path_b for part in fault["part"])


def test_a_mask_of_padding_that_gives_positions_only_is_found(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    port = tmp_path / "opt_numpy.py"
    text = port.read_text(encoding="utf-8")
    line = "visible = visible & (attention_mask[:, None, None, :] > 0)"
    assert text.count(line) == 1
    port.write_text(text.replace(line, "pass"), encoding="utf-8")
    found = compare_models(f"{tmp_path / 'opt_hf'}.py:build", f"{port}:build")
    first = found.differences[0]
    assert (first.cause.name, first.step) == ("padding_mask_ignored", "mask")
    assert first.situation.startswith("with padding")


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
