"""Reading what comes as a tuple: its parts, their shapes and dtypes, and what is handed on as it came."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.adapters.arrays import framework
from veriformer.adapters.errors import UnjudgeableResult
from veriformer.adapters.results import Result, read_results
from veriformer.spec.operations import Operation

NUMPY = framework("numpy")


def operation(*results: str) -> Operation:
    return Operation("pair", "pair", "Return a pair.", (), "two arrays", "f", "none", results=results)


def test_parts_are_joined_in_order():
    parts, opaque = read_results(NUMPY, operation("output", "lse"), (np.ones((2, 3)), np.zeros(4)), None)
    joined = Result.joined(parts, opaque)
    np.testing.assert_array_equal(joined.value, [1] * 6 + [0] * 4)
    assert (joined.shapes, joined.dtype, opaque) == (((2, 3), (4,)), "float64", {})


def test_dtypes_that_differ_are_all_named():
    parts, opaque = read_results(NUMPY, operation("output", "lse"), (np.ones(2, np.float32), np.zeros(1)), None)
    assert Result.joined(parts, opaque).dtype == "float32, float64"


def test_a_cache_is_handed_on_as_it_came():
    cache = object()
    parts, opaque = read_results(NUMPY, operation("logits", "cache"), (np.ones(2), cache), None)
    assert opaque == {"cache": cache}
    assert len(parts) == 1


@pytest.mark.parametrize("returned", [np.ones(2), (np.ones(2),), None, (1, 2, 3)])
def test_anything_but_a_tuple_of_the_right_length_is_refused(returned):
    with pytest.raises(UnjudgeableResult, match="a tuple of 2: output, lse"):
        read_results(NUMPY, operation("output", "lse"), returned, None)


def test_a_part_that_is_no_array_is_named():
    with pytest.raises(UnjudgeableResult, match="its lse"):
        read_results(NUMPY, operation("output", "lse"), (np.ones(2), "two"), [(2,), (1,)])
