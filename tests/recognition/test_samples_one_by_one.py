"""A model that goes through its samples in a loop is read on one of them, and its laws are tried on several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from veriformer.adapters.capture.isolated import MODEL_LIMITS
from veriformer.conformance_tests.run.checking_models import check_model

pytest.importorskip("torch")
HERE = Path(__file__).with_name("kinds") / "one_by_one.py"
NOTE = "It was read on one sample, since it goes through its samples one by one"


@pytest.fixture(scope="module")
def one_by_one(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("one_by_one")


@pytest.mark.parametrize(("file", "name"), (("one_by_one", "right"), ("loops", "Loop")))
def test_a_right_one_holds_with_its_laws_on_batches(kind: Callable[[str], ModuleType], file: str, name: str) -> None:
    report = check_model(getattr(kind(file), name)())
    assert report.is_recognised
    assert report.departures == ()
    assert NOTE in report.notices
    assert "model.batch.independence" in {one.law.id for one in report.results}


def test_a_mistake_in_the_loop_is_named(one_by_one: ModuleType) -> None:
    report = check_model(one_by_one.scaled_by_length())
    assert {suspect.name for one in report.departures for suspect in one.suspects} == {"scale_by_wrong_axis"}


def test_inputs_that_are_handed_over_stay(one_by_one: ModuleType) -> None:
    tokens = one_by_one.np.arange(10).reshape(2, 5)
    report = check_model(one_by_one.right(), (tokens,))
    assert NOTE not in report.notices


@pytest.mark.long
def test_it_is_read_so_in_a_process_of_its_own() -> None:
    report = check_model(f"{HERE}:right", isolation=MODEL_LIMITS)
    assert report.is_recognised
    assert NOTE in report.notices
