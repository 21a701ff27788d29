"""What an implementation may return as a record of weights: any object with the names, a mapping, or lists of them."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import make_dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.errors import UnjudgeableResult
from veriformer.adapters.numpy_arrays import FRAMEWORK
from veriformer.adapters.results import read_results
from veriformer.spec.operations import OPERATIONS

BACKWARD = OPERATIONS["feed_forward_backward"]
NAMES = ("w_1", "w_2", "b_1", "b_2")
X = np.ones((2, 3))
ARRAYS = {"w_1": np.ones((3, 4)), "w_2": np.full((4, 3), 2.0), "b_1": np.full(4, 3.0), "b_2": np.full(3, 4.0)}
GIVEN = {"weights": SimpleNamespace(**ARRAYS)}
KINDS = {
    "namespace": lambda arrays: SimpleNamespace(**arrays),
    "mapping": dict,
    "dataclass": lambda arrays: make_dataclass("Gradients", list(arrays))(**arrays),
    "named tuple": lambda arrays: namedtuple("Gradients", list(arrays))(**arrays),
    "class": lambda arrays: type("Gradients", (), arrays),
    "more than asked": lambda arrays: {**arrays, "w_3": None, "step": 7},
    "another order": lambda arrays: dict(reversed(arrays.items())),
}


def read(record):
    return read_results(FRAMEWORK, BACKWARD, (X, record), None, GIVEN)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_record_is_read_by_its_names(kind):
    found = read(KINDS[kind](ARRAYS))
    for result, expected in zip(found, (X, *ARRAYS.values()), strict=True):
        np.testing.assert_array_equal(result.value, expected)


def test_a_weight_that_is_missing_is_named_and_so_is_what_is_wanted():
    with pytest.raises(
        UnjudgeableResult, match=r"without b_1.*an object with attributes, or a mapping, of w_1, w_2, b_1"
    ):
        read({name: array for name, array in ARRAYS.items() if name != "b_1"})


def test_an_array_in_place_of_the_record_is_refused():
    with pytest.raises(UnjudgeableResult, match="without w_1, w_2, b_1, b_2"):
        read(np.ones(3))


def test_no_gradient_is_asked_for_a_bias_that_is_not_there():
    given = {"weights": SimpleNamespace(**{**ARRAYS, "b_1": None, "b_2": None})}
    found, _ = read_results(FRAMEWORK, BACKWARD, (X, {"w_1": ARRAYS["w_1"], "w_2": ARRAYS["w_2"]}), None, given)
    assert [result.value.shape for result in found] == [(2, 3), (3, 4), (4, 3)]


def test_lists_of_layers_are_read_by_their_places():
    operation = OPERATIONS["language_model_backward"]
    layers = [SimpleNamespace(w=np.full(2, float(number))) for number in range(2)]
    given = {"weights": SimpleNamespace(embedding=np.zeros((3, 2)), layers=layers)}
    returned = {"embedding": np.ones((3, 2)), "layers": tuple({"w": layer.w + 1.0} for layer in layers)}
    found, _ = read_results(FRAMEWORK, operation, returned, None, given)
    assert [float(result.value.max()) for result in found] == [1.0, 1.0, 2.0]
    with pytest.raises(UnjudgeableResult, match=r"without layers\.1\.w"):
        read_results(FRAMEWORK, operation, {**returned, "layers": returned["layers"][:1]}, None, given)
