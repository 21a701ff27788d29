"""The faults that are planted in whole models, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "benchmarks" / "models"


@pytest.fixture(scope="module")
def planting() -> Iterator[ModuleType]:
    """The script, which lies in a folder of its own."""
    specification = importlib.util.spec_from_file_location("planting_benchmark", MODELS / "planting.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    with pytest.MonkeyPatch.context() as patched:
        # A dataclass looks its annotations up in its module.
        patched.setitem(sys.modules, specification.name, module)
        # The script sets it for itself; other tests choose their own.
        patched.setenv("KERAS_BACKEND", "jax")
        specification.loader.exec_module(module)
        yield module


def fault(planting: ModuleType, **changes: object) -> object:
    entry = {
        "model": "nanogpt",
        "find": "if self.bias is not None",
        "replace": "",
        "layer": "all",
        "part": "",
        "step": "norm",
        "mistake": "",
        "note": "a fault",
    }
    return planting.Fault(**{**entry, **changes})


def test_every_fault_applies_and_is_a_python_program(planting: ModuleType) -> None:
    for planted in planting.faults():
        assert planted.text != planting.source(planted.model)
        compile(planted.text, planted.model, "exec")


def test_no_fault_is_there_twice(planting: ModuleType) -> None:
    texts = [(planted.model, planted.text) for planted in planting.faults()]
    assert len(set(texts)) == len(texts)


def test_the_mistakes_are_those_of_the_catalogue(planting: ModuleType) -> None:
    catalogue = ROOT / "conformance_tests" / "mistakes" / "catalogue.json"
    slugs = {entry["slug"] for entry in json.loads(catalogue.read_text(encoding="utf-8"))}
    assert {planted.mistake for planted in planting.faults() if planted.mistake} <= slugs


def test_faults_in_one_layer_name_it_in_their_part(planting: ModuleType) -> None:
    # The layers that lax.scan runs over have one path.
    entries = [one for one in planting.faults() if one.layer != "all" and one.model != "jax_llama_scan"]
    # The final norm is in no layer, also where a layer calls it.
    entries = [one for one in entries if one.part != "decoder.norm"]
    unnamed = [str(one) for one in entries if str(one.layer) not in one.part.replace("_", ".").split(".")]
    assert unnamed == []


def test_the_entries_of_the_file_are_all_read(planting: ModuleType) -> None:
    entries = tomllib.loads((MODELS / "faults.toml").read_text(encoding="utf-8"))["fault"]
    assert len(planting.faults()) == len(entries) >= 200


def test_globs_choose_models(planting: ModuleType) -> None:
    assert {one.model for one in planting.faults(["llama*"])} == {"llama_by_hand", "llama_complex"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "gpt5"}, "no model 'gpt5'"),
        ({"find": "self.mlp"}, "occurs 2 times in nanogpt; it must once"),
        ({"find": "no such text"}, "occurs 0 times in nanogpt"),
        ({"find": "self.mlp", "occurrence": 3}, "occurs 2 times in nanogpt, not 3"),
    ],
)
def test_a_fault_that_does_not_apply_is_refused(planting: ModuleType, changes: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fault(planting, **changes).text  # noqa: B018


@pytest.mark.parametrize(("changes", "said"), [({"step": "attn"}, "unknown step"), ({"layer": "1"}, "layer is '1'")])
def test_a_fault_with_unknown_words_is_refused(planting: ModuleType, changes: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fault(planting, **changes)


def test_the_occurrence_that_is_named_is_replaced(planting: ModuleType) -> None:
    second = fault(planting, find="self.mlp", replace="self.feed_forward", occurrence=2).text
    assert "self.mlp = MLP(" in second
    assert "x + self.feed_forward(" in second


def test_a_fault_changes_the_outputs_and_its_absence_does_not(planting: ModuleType) -> None:
    pytest.importorskip("torch")
    assert planting.complaint(fault(planting, find="if bias else None", replace="if bias else  None")).startswith(
        "the outputs change by 0.0e+00"
    )
    assert planting.complaint(fault(planting, find="1e-5)", replace="1e-4)")) == ""


def test_a_fault_that_does_not_run_is_reported_with_its_line(planting: ModuleType) -> None:
    pytest.importorskip("torch")
    said = planting.complaint(fault(planting, find="y = att @ v", replace="y = att @ w"))
    assert said.startswith("NameError")
    assert "nanogpt.py:" in said


def test_the_same_parameters_are_drawn_in_whatever_order_they_are_made(planting: ModuleType) -> None:
    pytest.importorskip("torch")
    swapped = fault(
        planting,
        find="wte=nn.Embedding(config.vocab_size, config.n_embd),\n"
        "                wpe=nn.Embedding(config.block_size, config.n_embd),",
        replace="wpe=nn.Embedding(config.block_size, config.n_embd),\n"
        "                wte=nn.Embedding(config.vocab_size, config.n_embd),",
    )
    with planting.planted(swapped) as path:
        found = planting.outputs(planting.imported(path))
    assert np.array_equal(found, planting.right_outputs("nanogpt"))
