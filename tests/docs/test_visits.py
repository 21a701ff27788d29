"""The picture of the space of cases counts what a run draws."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def visits(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    yield import_module("pages.visits").visits
    for name in [name for name in sys.modules if name == "pages" or name.startswith("pages.")]:
        sys.modules.pop(name)


def test_every_region_of_attention_is_visited_and_none_has_more_than_all_cases(visits):
    ((axis, regions),) = visits("scaled_dot_product_attention").axes
    counted = {region.label: region.cases for region in regions}
    assert axis == "region"
    assert all(0 < number <= counted["all cases"] for number in counted.values())
    # No case has both fewer keys than queries and more.
    assert counted["L < S"] + counted["L > S"] + counted["L = S > 1"] <= counted["all cases"]


def test_a_model_of_which_nothing_is_known_has_a_picture_too(visits):
    ((_, regions),) = visits("model").axes
    assert len(regions) > 1
