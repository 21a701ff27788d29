"""The faults that are planted in ports of models, and how answers about them are judged."""

from __future__ import annotations

import importlib.util
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
PORTS = BENCHMARKS / "models" / "ports"


@pytest.fixture(scope="module")
def scripts() -> Iterator[dict[str, ModuleType]]:
    """The scripts, which import each other."""
    found = {}
    with pytest.MonkeyPatch.context() as patched:
        # They set it for themselves; other tests choose their own.
        patched.setenv("KERAS_BACKEND", "jax")
        patched.setattr(sys, "path", [str(BENCHMARKS), str(BENCHMARKS / "models"), *sys.path])
        for name, folder in (("port_planting", BENCHMARKS / "models"), ("port_faults", BENCHMARKS)):
            specification = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
            assert specification is not None
            assert specification.loader is not None
            found[name] = importlib.util.module_from_spec(specification)
            # A dataclass looks its annotations up in its module.
            patched.setitem(sys.modules, name, found[name])
            specification.loader.exec_module(found[name])
        yield found


@pytest.fixture(scope="module")
def planting(scripts: dict[str, ModuleType]) -> ModuleType:
    return scripts["port_planting"]


def fault(planting: ModuleType, **changes: object) -> object:
    entry = {
        "pair": "gpt2_jax",
        "find": "N_HEAD = 4",
        "replace": "N_HEAD = 8",
        "where": "code",
        "part": ("h.0.attn",),
        "step": ("query",),
        "cause": ("mistake",),
        "names": ("scale_missing",),
        "note": "a fault",
    }
    return planting.Fault(**{**entry, **changes})


def test_every_pair_is_two_files_that_are_there(planting: ModuleType) -> None:
    names = {*planting.PAIRS, *planting.PAIRS.values(), "drawing"}
    assert names == {path.stem for path in PORTS.glob("*.py")}
    assert len(planting.PAIRS) >= 12


def test_every_fault_applies_and_is_a_python_program(planting: ModuleType) -> None:
    for planted in planting.faults():
        assert planted.text != (PORTS / f"{planted.pair}.py").read_text(encoding="utf-8")
        compile(planted.text, planted.pair, "exec")


def test_the_ports_of_strangers_and_their_faults_are_there(planting: ModuleType) -> None:
    pairs = planting.PAIRS_OF_STRANGERS
    assert {*pairs, *pairs.values(), "trained"} == {path.stem for path in planting.STRANGERS.glob("*.py")}
    faults = planting.faults(file=planting.FAULTS_OF_STRANGERS)
    assert len({(one.pair, one.text) for one in faults}) == len(faults) >= 100
    for planted in faults:
        compile(planted.text, planted.pair, "exec")


def test_no_fault_is_there_twice(planting: ModuleType) -> None:
    texts = [(planted.pair, planted.text) for planted in planting.faults()]
    assert len(set(texts)) == len(texts)


def test_the_entries_of_the_file_are_all_read(planting: ModuleType) -> None:
    entries = tomllib.loads((PORTS / "faults.toml").read_text(encoding="utf-8"))["fault"]
    assert len(planting.faults()) == len(entries) >= 200


def test_faults_are_in_every_port_and_about_as_often_in_converters(planting: ModuleType) -> None:
    faults = planting.faults()
    assert {one.pair for one in faults} == set(planting.PAIRS)
    places = Counter(one.where for one in faults)
    assert min(places.values()) > 0.4 * len(faults)


def test_names_that_look_like_slugs_are_those_of_the_catalogue(planting: ModuleType) -> None:
    catalogue = ROOT / "conformance_tests" / "mistakes" / "catalogue.json"
    slugs = {entry["slug"] for entry in json.loads(catalogue.read_text(encoding="utf-8"))}
    # Conventions of the specification, and words of which a name may be made, have one or two words.
    named = {name for one in planting.faults() for name in one.names if name.count("_") >= 2}
    assert named - slugs == {"rms_norm_gain"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"find": "wb("}, "occurs 5 times in gpt2_jax; it must once"),
        ({"find": "no such text"}, "occurs 0 times in gpt2_jax"),
    ],
)
def test_a_fault_that_does_not_apply_is_refused(planting: ModuleType, changes: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fault(planting, **changes).text  # noqa: B018


@pytest.mark.parametrize("changes", [{"pair": "gpt5_jax"}, {"cause": ("fate",)}, {"where": "head"}])
def test_a_fault_with_unknown_words_is_refused(planting: ModuleType, changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="unknown pair, place or cause"):
        fault(planting, **changes)


def test_a_correct_pair_agrees_and_a_fault_changes_it(planting: ModuleType) -> None:
    pytest.importorskip("transformers")
    right = planting.output(planting.right_trace("llama_torch", 1))
    assert planting.difference(planting.source_output("llama_torch", 1), right) < planting.CORRECT
    torch_fault = {"pair": "llama_torch", "find": "is_causal=True"}
    assert planting.complaint(fault(planting, **torch_fault, replace="is_causal=False"), 1) == ""
    assert planting.complaint(fault(planting, **torch_fault, replace="is_causal= True"), 1).startswith("the outputs")


def test_the_seed_draws_other_weights(planting: ModuleType) -> None:
    pytest.importorskip("transformers")
    assert planting.difference(planting.source_output("llama_torch", 0), planting.source_output("llama_torch", 1)) > 0.1


def answered(scripts: dict[str, ModuleType], **changes: object) -> object:
    given = {
        "verdict": "differ",
        "path_a": "transformer.h.0.attn",
        "path_b": "['blocks'][0]['attn']",
        "step": "query",
        "kind": "mistake",
        "name": "scale missing",
    }
    answer = scripts["port_faults"].Answer(**{**given, **changes})
    return scripts["port_faults"].Outcome(fault(scripts["port_planting"]), 0, answer)


def test_a_right_answer_counts(scripts: dict[str, ModuleType]) -> None:
    outcome = answered(scripts)
    assert (outcome.seen, outcome.in_right_part, outcome.at_right_step, outcome.named) == (True,) * 4
    assert outcome.complaint == ""


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({"verdict": "agree"}, (False, False, False, False)),
        ({"verdict": "inside"}, (False, False, False, False)),
        ({"path_a": "transformer.h.1.attn"}, (True, False, True, True)),
        ({"path_a": "", "path_b": "h[0].attn"}, (True, True, True, True)),
        ({"step": "key"}, (True, True, False, True)),
        ({"kind": "weight"}, (True, True, True, False)),
        ({"name": "transposed"}, (True, True, True, False)),
    ],
)
def test_a_wrong_answer_is_told_apart(
    scripts: dict[str, ModuleType], changes: dict[str, object], counts: tuple[bool, ...]
) -> None:
    outcome = answered(scripts, **changes)
    assert (outcome.seen, outcome.in_right_part, outcome.at_right_step, outcome.named) == counts
    assert (outcome.complaint == "") == all(counts)


MODEL = """
import numpy as np

def run(weights, tokens):
    x = weights["table"][tokens]
    return x + np.maximum(x @ weights["up"], 0) @ weights["down"]

def build():
    rng = np.random.default_rng(0)
    shapes = {"table": (9, 4), "up": (4, 6), "down": (6, 4)}
    return run, {name: rng.normal(size=shape) for name, shape in shapes.items()}
"""


def test_a_pair_of_models_is_compared(scripts: dict[str, ModuleType], tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(MODEL)
    assert scripts["port_faults"].compared(str(model), str(model)).verdict == "agree"
