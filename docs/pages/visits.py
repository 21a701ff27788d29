"""The space of cases of an operation as a picture: how many cases of a quick run lie in each of its named regions.

Cases are drawn as a run draws them, and nothing is judged. Cases that are drawn on purpose because they are rare are
not counted, and regions about what a law makes of its inputs are left out.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest.mock import patch

from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.adapters.model_declarations import BlackBox
from veriformer.adapters.numpy_arrays import NumPyArrays
from veriformer.conformance_tests import check
from veriformer.conformance_tests.drawing.region import Region
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.rarities import RareCase
from veriformer.conformance_tests.operations.regions import REGIONS
from veriformer.conformance_tests.search.search import Outcome, Search
from veriformer.pictures import model

_TIER = "quick"


def visits(operation: str) -> model.Visits:
    """Return how many of the cases that a quick run draws at seed 0 lie in each region of an operation."""
    cases, regions = _drawn(operation), _regions_of(operation)
    numbers = Counter(region.name for case in cases for region in regions if _lies_in(region, operation, case))
    counted = (model.Region("all cases", len(cases)), *(model.Region(one.name, numbers[one.name]) for one in regions))
    return model.Visits("Cases of a quick run in each region", (("region", counted),))


def _regions_of(operation: str) -> list[Region]:
    """Return the regions of an operation that the cases and their inputs decide."""
    return [region for region in REGIONS.values() if operation in region.operations and not region.laws]


def _lies_in(region: Region, operation: str, case: Any) -> bool:
    return region.cases(case) and (region.inputs is None or region.inputs(draw_inputs(operation, case)))


def _drawn(operation: str) -> list[Any]:
    """Return the cases that a quick run draws for an operation."""
    drawn: list[Any] = []

    def noted(search: Search, case: Any) -> Outcome:
        if case is None or isinstance(case, RareCase):
            return Outcome("holds")
        drawn.append(case)
        return Outcome("holds", case)

    with patch.object(Search, "judge", noted):
        check(_implementation(operation), operations=(operation,), tier=_TIER, diagnosis=False)
    return drawn


def _implementation(operation: str) -> Any:
    if operation != "model":
        return load("numpy")
    box = BlackBox(vocabulary_size=11, max_length=9)
    return Implementation("box", NumPyArrays(), {"model": lambda inputs, padding_mask=None: inputs}, black_box=box)
