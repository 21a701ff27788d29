"""Training loops that let other weights decay: each conforms, and no mistake hides behind its choice."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from veriformer.conformance_tests import check, identify
from veriformer.conformance_tests.mistakes import PlantedMistake, planted
from veriformer.conformance_tests.mistakes.files import read_source
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.conventions import CONVENTIONS

pytest.importorskip("torch")

SOURCE = "training_steps_torch"
FIRST = "training_steps.first_step"
VALUES = CONVENTIONS["decayed_weights"].value_names
# What a program asks of a parameter's path and of its array, as the libraries do that follow the value.
RULES = {
    "all": "True",
    "matrices": "array.dim() >= 2",
    "matrices_without_embeddings": 'array.dim() >= 2 and path not in ("embedding", "positions")',
    "all_without_embeddings": 'path not in ("embedding", "positions")',
}
# Choices of no correct library.
WRONG = {
    "norms_decay_with_biases_spared": 'path.rpartition(".")[2] != "beta" and ".b_" not in path',
    "decay_groups_swapped": 'path in ("embedding", "positions")',
    "adam_weight_decay_ignored": "False",
    "decayed=no_positions": 'path != "positions"',
    "decayed=no_norms": '"norm" not in path',
}
GROUPS = """

def groups_of(arrays, named, weight_decay):
    paths = {{id(array): path for path, array in named.items()}}
    groups = [{{"params": [], "weight_decay": decay}} for decay in (0.0, weight_decay)]
    for array in arrays:
        path = paths[id(array)]
        groups[bool({rule})]["params"].append(array)
    return groups
"""
# Their programs choose the weights that decay themselves.
OF_THE_CHOICE = {"norms_decay_with_biases_spared", "decay_groups_swapped", "adam_weight_decay_ignored"}
MISTAKES = [entry for entry in planted() if entry.source == SOURCE and entry.slug not in OF_THE_CHOICE]


def written(folder: Path, text: str, rule: str) -> str:
    """Write a program whose optimizer has two groups, of which one does not decay."""
    grouped, count = re.subn(r"(\[[^\n]*\]|named\.values\(\)), lr=", r"groups_of(\1, named, weight_decay), lr=", text)
    assert count
    path = folder / "program.py"
    path.write_text(grouped + GROUPS.format(rule=rule), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("value", [VALUES[0], *(pytest.param(value, marks=pytest.mark.long) for value in VALUES[1:])])
def test_a_loop_conforms_whichever_weights_decay(tmp_path: Path, value: str, seed: int) -> None:
    report = check(written(tmp_path, read_source(SOURCE), RULES[value]), seed=seed)
    assert report.verdict == "conforms"
    assert report.conventions["decayed_weights"] == value


@pytest.mark.parametrize("value", VALUES)
def test_what_decays_is_found_out_where_gradients_are_wrong(tmp_path: Path, value: str) -> None:
    text = read_source(SOURCE).replace("tokens[:, 1:].flatten()", "tokens[:, :-1].flatten()")
    path = written(tmp_path, text, RULES[value])
    found = identify(path, conventions=["decayed_weights"]).conventions
    assert [(item.value, item.told, item.fits) for item in found] == [(value, "told", (value,))]


@pytest.mark.long
@pytest.mark.parametrize("value", VALUES)
def test_a_declared_value_is_obeyed_and_contradicted(tmp_path: Path, value: str) -> None:
    text = read_source(SOURCE).replace("conventions = {", f'conventions = {{"decayed_weights": "{value}", ')
    assert check(written(tmp_path, text, RULES[value]), tier="quick", laws=[FIRST]).verdict == "conforms"
    other = VALUES[VALUES.index(value) - 1]
    path = written(tmp_path, text, RULES[other])
    assert check(path, laws=[FIRST]).verdict == "violates"
    assert [item.fits for item in identify(path).contradicted] == [(other,)]


@pytest.mark.long
@pytest.mark.parametrize("name", WRONG)
def test_a_choice_of_no_library_is_named(tmp_path: Path, name: str) -> None:
    report = check(written(tmp_path, read_source(SOURCE), WRONG[name]), tier="quick")
    assert report.verdict == "violates"
    assert names(report) == (name,)


@pytest.mark.long
@pytest.mark.parametrize("value", VALUES[1:])
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda entry: entry.name)
def test_mistakes_are_caught_and_named_whichever_weights_decay(
    tmp_path: Path, mistake: PlantedMistake, value: str
) -> None:
    report = check(written(tmp_path, mistake.source_text(), RULES[value]))
    broken = {result.law.id for result in report.results if result.status == "failed"}
    assert set(mistake.laws) <= broken
    assert names(report) == names_where_all_decay(mistake)


@cache
def names_where_all_decay(mistake: PlantedMistake) -> tuple[str, ...]:
    with TemporaryDirectory() as folder:
        return names(check(written(Path(folder), mistake.source_text(), RULES["all"])))


def names(report: Report) -> tuple[str, ...]:
    return tuple(report.diagnoses[0].suspects[0].mistakes) if report.diagnoses[0].suspects else ()
