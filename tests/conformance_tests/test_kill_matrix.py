"""The kill matrix is that of the mistakes that are planted, and what follows from it follows from it.

`benchmarks/kill_matrix.py` measures it; with `--only-missing` it adds mistakes and laws that are new.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.mistakes import PlantedMistake, catalogue, planted
from veriformer.conformance_tests.mistakes.files import read_json
from veriformer.conformance_tests.mistakes.kills import (
    Killed,
    KillMatrix,
    kill_matrix,
    reasons_for_catching_nothing,
    shown_in,
)
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.run import ordering
from veriformer.conformance_tests.run.ordering import most_revealing_first
from veriformer.spec.laws import LAWS

MATRIX = kill_matrix()
PLANTED = {mistake.name: mistake for mistake in planted()}
# Their programs have few operations, or cheap ones: each is put to all laws again.
AGAIN = (
    "silu.value-sigmoid_sign_flipped-numpy",
    "alibi.slopes.geometric-alibi_first_slope_one-numpy",
    "relative_bucket.saturation-t5_max_distance_ignored-numpy",
    "embedding.value-token_numbers_from_one-numpy",
    "cross_entropy.uniform-loss_summed-numpy",
    "rotary.dtype-result_promoted_to_float64-numpy",
)


def test_names_of_planted_mistakes_are_unique() -> None:
    assert len(PLANTED) == len(planted())


def test_mistakes_of_the_matrix_are_those_that_are_planted() -> None:
    names = [mistake.name for mistake in MATRIX.mistakes]
    # What was planted since is not measured yet; what is gone must go from the data.
    assert len(names) == len(set(names)) > 500
    assert set(names) <= set(PLANTED)
    for killed in MATRIX.mistakes:
        assert (killed.slug, killed.source) == (PLANTED[killed.name].slug, PLANTED[killed.name].source)


def test_every_mistake_is_caught_by_the_laws_that_name_it() -> None:
    for killed in MATRIX.mistakes:
        mistake = PLANTED[killed.name]
        assert set(mistake.laws) - set(killed.stopped if mistake.errors else killed.broken) == set(), killed.name


def test_a_mistake_shows_wherever_it_breaks_a_law() -> None:
    axis = catalogue()["softmax_wrong_axis"]
    assert shown_in(axis)[: len(axis.operations)] == axis.operations
    assert "scaled_dot_product_attention" in {*shown_in(axis)} - {*axis.operations}
    for slug, mistake in catalogue().items():
        broken = {LAWS[law].operation.name for one in MATRIX.mistakes if one.slug == slug for law in one.broken}
        assert {*shown_in(mistake)} == broken | {*mistake.operations}, slug
        assert len(shown_in(mistake)) == len({*shown_in(mistake)})


def test_every_law_exists_and_is_tried_on_some_program() -> None:
    # In the order of the catalogue; a law that was stated since is not measured yet.
    assert list(MATRIX.laws) == [law for law in LAWS if law in MATRIX.laws]
    assert len(MATRIX.laws) > 700
    assert {law for killed in MATRIX.mistakes for law in killed.violated} <= LAWS.keys()


def test_order_has_every_measured_law_once() -> None:
    assert Counter(read_json("order.json")) == Counter(dict.fromkeys(MATRIX.laws, 1))


def test_laws_are_tried_in_that_order() -> None:
    order = [law.id for law in most_revealing_first(laws().values())]
    recorded = read_json("order.json")
    assert order[: len(recorded)] == recorded
    # What is not measured yet comes last.
    assert order[len(recorded) :] == [law for law in LAWS if law not in recorded]
    violated = {law for mistake in MATRIX.mistakes for law in mistake.violated}
    # The laws that tell nothing come last.
    assert set(order[: len(violated)]) == violated


def test_a_law_that_is_not_measured_yet_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = [law for law in read_json("order.json") if law != "softmax.value"]
    monkeypatch.setattr(ordering, "read_json", lambda _: recorded)
    ordering._ranks.cache_clear()
    try:
        last = [law.id for law in most_revealing_first(laws().values())][len(recorded) :]
        assert "softmax.value" in last
        assert set(last) == LAWS.keys() - set(recorded)
    finally:
        ordering._ranks.cache_clear()


def test_a_law_that_catches_nothing_says_why_it_exists_and_no_other_does() -> None:
    reasons = reasons_for_catching_nothing()
    idle = {law for law in MATRIX.catching_nothing if law not in reasons}
    assert {LAWS[law].claim.key for law in idle} <= reasons.keys()
    for named, reason in reasons.items():
        assert len(reason.split()) > 5, named
        assert named in MATRIX.catching_nothing or named in {LAWS[law].claim.key for law in idle}, named


def test_what_laws_catch_is_what_mistakes_break() -> None:
    small = KillMatrix(
        "quick",
        0,
        {"softmax.value": 1, "softmax.shift": 2, "softmax.dtype": 3},
        (
            Killed("one", "slug", "source", ("softmax.value", "softmax.shift")),
            Killed("two", "slug", "source", ("softmax.value",)),
            Killed("three", "slug", "source", (), ("softmax.dtype",)),
            Killed("four", "slug", "source", ()),
        ),
    )
    assert small.by_law == {"softmax.value": ("one", "two"), "softmax.shift": ("one",), "softmax.dtype": ()}
    assert [mistake.name for mistake in small.caught] == ["one", "two", "three"]
    assert [mistake.name for mistake in small.caught_by_one_law] == ["two", "three"]
    assert small.catching_nothing == ("softmax.dtype",)


@pytest.mark.parametrize("mistake", [PLANTED[name] for name in AGAIN], ids=AGAIN)
def test_a_mistake_breaks_the_recorded_laws_again(mistake: PlantedMistake, tmp_path: Path) -> None:
    path = tmp_path / f"my_{mistake.source}.py"
    path.write_text(mistake.source_text(), encoding="utf-8")
    with np.errstate(all="ignore"):
        report = check(str(path), tier=MATRIX.tier, seed=MATRIX.seed, shrink=False, diagnosis=False)
    recorded = next(killed for killed in MATRIX.mistakes if killed.name == mistake.name)
    for status, laws_of_record in (("failed", recorded.broken), ("error", recorded.stopped)):
        assert {result.law.id for result in report.results if result.status == status} == set(laws_of_record)
