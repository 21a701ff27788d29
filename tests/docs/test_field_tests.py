"""What others test: every pattern of the page means laws, and means them narrowly."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

# What is asked of every operation alike: a pattern that takes it in beside other laws is too wide.
GENERAL = ("signature", "worked_examples")


@pytest.fixture
def field_tests(builder: Any) -> Any:
    """Return the module that writes the page."""
    return import_module("pages.field_tests")


def patterns(field_tests: Any) -> list[str]:
    return [pattern for item in field_tests.PROPERTIES for pattern in item.laws]


def test_a_pattern_that_matches_no_law_is_an_error(field_tests: Any) -> None:
    with pytest.raises(ValueError, match="merge_attention"):
        field_tests.matching("merge_attention.*")


def test_no_pattern_takes_in_the_laws_of_every_operation(field_tests: Any) -> None:
    for pattern in patterns(field_tests):
        assert not [law for law in field_tests.matching(pattern) if law.endswith(GENERAL)], pattern


def test_a_property_has_laws_or_a_reason_and_not_both(field_tests: Any) -> None:
    for item in field_tests.PROPERTIES:
        assert bool(item.laws) is not bool(item.reason), item.name


def test_no_property_is_listed_twice(field_tests: Any) -> None:
    names = [item.name for item in field_tests.PROPERTIES]
    assert len(names) == len(set(names)) > 60
