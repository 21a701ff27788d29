"""The smallest cases on the pages of mistakes are those that a check finds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from veriformer.conformance_tests.mistakes import catalogue

DOCS = Path(__file__).resolve().parents[2] / "docs"
# A result of numbers, one in words, one that raises, and one of several calls.
SAMPLE = ("scale_missing", "batch_axis_added", "value_dim_assumed_equal_qk_dim", "gqa_head_index_wrong")


@pytest.fixture(scope="module")
def finder() -> Iterator[Any]:
    """Return the module docs/smallest_cases.py."""
    sys.path.insert(0, str(DOCS))
    try:
        yield import_module("smallest_cases")
    finally:
        sys.path.remove(str(DOCS))


def test_every_planted_mistake_has_its_case(finder: Any) -> None:
    planted = {slug: mistake for slug, mistake in catalogue().items() if mistake.planted}
    cases = finder.read()
    assert list(cases) == sorted(planted)
    for slug, case in cases.items():
        assert case["planted"] == finder.chosen(planted[slug]).name
        assert case["law"] in planted[slug].laws
        assert ("error" in case) or case["expected"] != case["got"]


@pytest.mark.parametrize("slug", SAMPLE)
def test_a_check_finds_the_same_case(slug: str, finder: Any) -> None:
    assert finder.smallest(finder.chosen(catalogue()[slug])) == finder.read()[slug]


def test_every_case_is_drawn(generated: dict[str, str], finder: Any) -> None:
    for slug, case in finder.read().items():
        page = generated[f"mistakes/{slug}.md"]
        assert "## The smallest case" in page
        drawn = "error" in case or isinstance(case["expected"], str)
        assert drawn or all(f">{title}" in page for title in ("expected", "got", "difference")), slug
