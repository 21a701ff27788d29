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


LISTED = Operation(
    "list", "list", "Return a list.", (), "arrays", "f", "none", results=("out",), records=(("out", "x"),)
)
GIVEN = {"x": [np.ones(2), np.ones((1, 3))]}


@pytest.mark.parametrize("kind", [list, tuple, lambda arrays: ([*arrays],), lambda arrays: (tuple(arrays),)])
def test_a_list_of_arrays_may_come_as_a_list_or_a_tuple_and_alone_in_a_tuple(kind):
    parts, _ = read_results(NUMPY, LISTED, kind([np.zeros(2), np.ones((1, 3))]), None, GIVEN)
    assert [part.shape for part in parts] == [(2,), (1, 3)]


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_one_array_is_no_array_alone(kind):
    parts, _ = read_results(NUMPY, LISTED, kind([np.zeros(2)]), None, {"x": [np.ones(2)]})
    assert [part.shape for part in parts] == [(2,)]


@pytest.mark.parametrize("returned", [[np.ones(2)], [np.ones(2)] * 3, np.ones(2), None, ([np.ones(2)] * 2, 1.0)])
def test_a_list_of_another_length_is_refused(returned):
    with pytest.raises(UnjudgeableResult, match=r"its out, .*expected a list of 2 arrays|its out\.0"):
        read_results(NUMPY, LISTED, returned, None, GIVEN)


RATE = Operation("rate", "rate", "Return a number.", (), "scalar", "f", "none")


@pytest.mark.parametrize(
    ("returned", "dtype"), [(0.5, "float"), (1, "int"), (np.float32(0.5), "float32"), (np.array(0.5), "float64")]
)
def test_a_number_made_of_numbers_may_be_one_of_pythons(returned, dtype):
    (part,), _ = read_results(NUMPY, RATE, returned, None)
    assert (part.value, part.shape, part.dtype) == (float(returned), (), dtype)


@pytest.mark.parametrize("returned", [True, None, "0.5", 0.5j])
def test_what_is_no_number_is_refused(returned):
    with pytest.raises(UnjudgeableResult):
        read_results(NUMPY, RATE, returned, None)


def test_a_number_is_no_array_where_arrays_are_expected():
    with pytest.raises(UnjudgeableResult, match=r"the Python number 0\.5"):
        read_results(NUMPY, operation(), 0.5, None)
