"""The suite catches what people get wrong: one change to a correct file, and each law that names the mistake fails.

The mistakes are data of `veriformer.conformance_tests.mistakes`, which says what an entry is. A counterexample must be
small enough to be read: `readable.json` says how large a case of each kind may be.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from functools import reduce
from math import prod
from pathlib import Path

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.mistakes import PlantedMistake, catalogue, planted
from veriformer.conformance_tests.mistakes.files import read_json
from veriformer.conformance_tests.run import runner
from veriformer.spec.laws import LAWS, layers
from veriformer.spec.laws.law import Property
from veriformer.spec.operations import OPERATIONS

HERE = Path(__file__).parent
REPORTED = {slug for slug, mistake in catalogue().items() if mistake.citations}
READABLE: dict[str, dict[str, int]] = json.loads((HERE / "readable.json").read_text(encoding="utf-8"))
LEAST_REPORTED = 3
LEAST_OF_THE_CATALOGUE = 163
# Slips of programs: no option of a formula could stand for them.
BEYOND_FORMULAS = {
    "tail of a block": ("block_tail_dropped", "block_tail_read_twice", "block_tail_padding_visible"),
    "rescaling in online softmax": ("online_softmax_output_not_rescaled", "online_softmax_total_not_rescaled"),
    "state hidden between calls": ("keys_cached_by_shape", "keys_cached_by_address", "keys_of_the_call_before"),
    "inputs changed": ("query_scaled_in_place", "mask_mutated_in_place"),
    "memory shared with the result": ("result_is_view_of_input", "output_buffer_reused"),
    "accumulation in 16 bits": ("inner_product_accumulated_in_half", "weights_rounded_to_half"),
    "NaN behind the mask": ("masked_nan_or_inf_leaks",),
    "strides": ("noncontiguous_input_wrong",),
    "the rest of the batch": ("mask_of_first_sample", "maximum_over_the_batch", "statistics_of_the_batch"),
}
# Their verdicts are words, which have no entries that could be marked.
IN_WORDS = (
    "signature",
    "shape",
    "dtype",
    "inputs_unchanged",
    "share",
    "mask.neighbours",
    "mask.shared",
    "seed.other",
    "training_again",
    *(f"initial_weights.{key}" for key in ("mean", "deviation", "logits", "depth", "tables")),
    ".independent",
)
MISTAKES = planted()


# JAX compiles anew for every one of its mistakes, which takes a minute and a half in all; PyTorch's are many, and a
# case of layers or of heads is dozens of calls.
_COSTLY = ("gradients_of_layers_numpy", "gradients_of_multi_head_numpy", "layers_numpy", "initial_gpt2_numpy")


def is_long(mistake: PlantedMistake) -> bool:
    """Return whether the mistake is one of those that take longest."""
    return mistake.framework != "numpy" or mistake.source in _COSTLY


MISTAKES_BY_TIME = [
    pytest.param(mistake, id=mistake.name, marks=[pytest.mark.long] if is_long(mistake) else []) for mistake in MISTAKES
]


@pytest.mark.parametrize("mistake", MISTAKES_BY_TIME)
def test_each_law_that_names_the_mistake_fails_on_a_small_case(
    mistake: PlantedMistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Few laws alone leave open what all of them tell: under which convention a mistaken program is judged.
    monkeypatch.setattr(runner, "judged_under_others", lambda *_: {})
    if mistake.framework != "numpy":
        pytest.importorskip(mistake.framework)
    path = tmp_path / f"my_{mistake.source}.py"
    path.write_text(mistake.source_text(), encoding="utf-8")
    with np.errstate(all="ignore"):
        # What raises in some calls is the error of one law; asked alone, each of them is that law.
        asked = [(law,) for law in mistake.laws] if mistake.errors else [mistake.laws]
        reports = [check(str(path), laws=laws, diagnosis=False) for laws in asked]
    results = [result for report in reports for result in report.results]
    assert {result.law.id: result.status for result in results} == dict.fromkeys(mistake.laws, mistake.status)
    assert {report.exit_status for report in reports} == {1}
    for report in reports:
        broken = {result.law.operation.name for result in report.results}
        # What follows from a broken forward pass is not shown.
        for result in report.results:
            if report.derived.get(result.law.operation.name) not in broken:
                assert_readable(result)


def assert_readable(result: LawResult) -> None:
    assert result.counterexample is not None
    case = result.counterexample.case
    if result.status == "failed" and not result.law.id.endswith(IN_WORDS):
        assert np.asarray(result.counterexample.verdict.wrong).any()
    if case is None:
        return
    for sizes, most in READABLE[type(case).__name__].items():
        assert size_of(case, sizes) <= most, f"{sizes} is more than {most}: {case.describe()}"


def size_of(case: object, sizes: str) -> int:
    """Return a size of a case, or a product of sizes: `length`, `batch * length`, `weights.width`."""
    return prod(reduce(getattr, name.split("."), case) for name in sizes.split(" * "))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_mistakes_of_the_catalogue_are_caught_in_every_operation(operation: str) -> None:
    found = {
        mistake.slug for mistake in MISTAKES for law in mistake.laws if LAWS[law].operation.name == operation
    } & REPORTED
    assert len(found) >= LEAST_REPORTED, f"{operation}: only {sorted(found)}"


@pytest.mark.parametrize(
    ("operation", "claims"),
    [("encoder_layer", layers.ENCODER_LAYER_LAWS), ("decoder_layer", layers.DECODER_LAYER_LAWS)],
)
def test_every_law_that_a_layer_has_of_its_own_catches_a_mistake(operation: str, claims: Collection[Property]) -> None:
    """Those that every operation has are tried elsewhere."""
    caught = {law for mistake in MISTAKES for law in mistake.laws}
    own = {law.id for law in LAWS.values() if law.operation.name == operation and law.claim in claims}
    assert own
    assert own - caught == set()


def test_a_mistake_of_the_catalogue_is_planted_or_it_is_said_why_not() -> None:
    reasons: dict[str, str] = read_json("not_planted.json")
    caught = {mistake.slug for mistake in MISTAKES} & REPORTED
    assert sorted([*caught, *reasons]) == sorted(REPORTED)
    assert len(caught) >= LEAST_OF_THE_CATALOGUE
    assert all(len(reason.split()) > 5 for reason in reasons.values())


@pytest.mark.parametrize("kind", BEYOND_FORMULAS)
def test_what_is_no_choice_in_a_formula_is_planted_in_numpy_and_torch(kind: str) -> None:
    frameworks = {mistake.framework for mistake in MISTAKES if mistake.slug in BEYOND_FORMULAS[kind]}
    assert frameworks >= {"numpy", "torch"}
    assert {mistake.slug for mistake in MISTAKES} >= {*BEYOND_FORMULAS[kind]}


def test_what_the_catalogue_does_not_have_is_said_once() -> None:
    summaries = defaultdict(set)
    for mistake in MISTAKES:
        summaries[mistake.slug].add(mistake.summary)
    for slug, said in summaries.items():
        assert len(said - {""}) == (slug not in REPORTED), f"{slug}: {said}"


def test_no_mistake_is_planted_twice() -> None:
    changes = [(mistake.source, mistake.right, mistake.wrong) for mistake in MISTAKES]
    assert len(changes) == len(set(changes))
