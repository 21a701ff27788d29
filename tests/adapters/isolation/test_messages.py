"""Replies: what a worker sends is what arrives, and what cannot be true is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from veriformer.adapters.errors import (
    AdapterError,
    LoadError,
    MissingFramework,
    OperationRaised,
    StateCorrupted,
    UnjudgeableResult,
    UnsupportedDtype,
    formatted_traceback,
)
from veriformer.adapters.isolation import messages
from veriformer.adapters.isolation.frames import Frame, FrameReader, MalformedFrame, reply
from veriformer.adapters.results import Result

ONE = {"dtype": "float64", "shape": [2, 3], "of": "float32", "shapes": [[2, 3]]}


def sent(frame: Frame) -> Frame:
    received = FrameReader().feed(reply(frame))
    assert received is not None
    return received


@pytest.mark.parametrize("dtype", ("float64", "bool", "int64"))
@pytest.mark.parametrize("shape", ((), (0,), (2, 3), (1, 2, 0, 4)))
def test_results_arrive_as_they_were_sent(dtype: str, shape: tuple[int, ...]) -> None:
    value = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype)
    (received,) = messages.results_in(sent(messages.of_results([Result.of(value, "float16")])), 1)
    assert (received.dtype, received.shapes, received.value.dtype) == ("float16", (shape,), value.dtype)
    assert np.array_equal(received.value, value)
    received.value[...] = 1


def test_values_that_are_not_finite_arrive() -> None:
    value = np.array([np.nan, np.inf, -np.inf, -0.0])
    (received,) = messages.results_in(sent(messages.of_results([Result.of(value, "float64")])), 1)
    assert received.value.tobytes() == value.tobytes()


def test_results_of_several_parts_and_of_chains_arrive() -> None:
    parts = Result.joined(
        [Result.of(np.zeros((2, 3)), "float32"), Result.of(np.ones(4), "float32")], {"cache": object()}
    )
    chain = Result(np.zeros((2, 5, 7)), "float32", ((2, 4, 7), (2, 1, 7)))
    received = messages.results_in(sent(messages.of_results([parts, chain])), 2)
    assert [one.shapes for one in received] == [parts.shapes, chain.shapes]
    assert not received[0].opaque


def test_a_result_that_is_too_large_is_not_sent() -> None:
    large = np.broadcast_to(np.float64(0), (2**26,))
    with pytest.raises(AdapterError, match="the result takes 536,870,912 bytes"):
        messages.of_results([Result.of(large, "float64")])


def test_arrays_arrive_by_name() -> None:
    arrays = {"query": np.eye(2), "weights.layers.0.w_q": np.arange(3), "mask": np.array([True, False])}
    received = messages.arrays_in(sent(messages.of_arrays(arrays)))
    assert all(np.array_equal(received[name], array) for name, array in arrays.items())


@pytest.mark.parametrize(
    ("changes", "payload"),
    (
        ({"dtype": "object"}, 48),
        ({"dtype": "float32"}, 24),
        ({"dtype": 8}, 48),
        ({"shape": [2, -3]}, 48),
        ({"shape": [2.0, 3.0]}, 48),
        ({"shape": [True, 6]}, 48),
        ({"shape": "23"}, 48),
        ({"shape": [2**40, 2**20]}, 48),
        ({"shape": [1] * 65}, 8),
        ({"shape": [0, 10**30], "shapes": [[0, 10**30]]}, 0),
        ({"shape": [0, 2**62, 2**62], "shapes": [[0, 2**62, 2**62]]}, 0),
        ({"shapes": [[6]]}, 48),
        ({"shapes": [[2, 2], [1, 3]]}, 48),
        ({"shapes": []}, 48),
        ({"shapes": None}, 48),
        ({"of": None}, 48),
        ({}, 47),
        ({}, 56),
    ),
)
def test_a_result_that_cannot_be_true_is_refused(changes: dict[str, Any], payload: int) -> None:
    with pytest.raises(MalformedFrame):
        messages.results_in(Frame({"results": [ONE | changes]}, bytes(payload)), 1)


def test_a_result_of_many_axes_is_one() -> None:
    value = np.ones((1,) * 40)
    (received,) = messages.results_in(sent(messages.of_results([Result.of(value, "float32")])), 1)
    assert received.shape == value.shape


@pytest.mark.parametrize("header", ({}, {"results": ONE}, {"results": [1]}, {"results": []}, {"results": [ONE, ONE]}))
def test_what_holds_no_results_is_refused(header: dict[str, Any]) -> None:
    with pytest.raises(MalformedFrame):
        messages.results_in(Frame(header, bytes(48)), 1)


def test_truth_values_are_true_or_false() -> None:
    told = {"results": [{"dtype": "bool", "shape": [3], "of": "bool", "shapes": [[3]]}]}
    (received,) = messages.results_in(Frame(told, b"\x00\x07\xff"), 1)
    assert received.value.view(np.uint8).tolist() == [0, 1, 1]


def _raised() -> OperationRaised:
    try:
        raise ZeroDivisionError("by \x1b[31mzero")
    except ZeroDivisionError as error:
        return OperationRaised("softmax", error)


@pytest.mark.parametrize(
    ("error", "kind"),
    (
        (_raised(), OperationRaised),
        (UnjudgeableResult("softmax", "None", "a numpy array"), AdapterError),
        (UnsupportedDtype("numpy has no bfloat16"), UnsupportedDtype),
        (LoadError("there is no file"), LoadError),
        (MissingFramework("torch"), MissingFramework),
        (StateCorrupted("softmax", "the environment (A)"), StateCorrupted),
    ),
)
def test_errors_arrive_with_their_kind_and_sentence(error: AdapterError, kind: type[AdapterError]) -> None:
    received = messages.error_in(sent(messages.of_error(error)), "softmax")
    assert type(received) is kind
    assert str(received) == str(error).replace("\x1b", "\\x1b")


def test_the_traceback_arrives_as_text() -> None:
    received = messages.error_in(sent(messages.of_error(_raised())), "softmax")
    assert isinstance(received, OperationRaised)
    text = formatted_traceback(received.original)
    assert "in _raised" in text
    assert "\x1b" not in text


def test_what_is_no_error_of_ours_says_what_it_was() -> None:
    received = messages.error_in(sent(messages.of_error(KeyError("mask"))), "softmax")
    assert str(received) == "softmax could not be called in a process of its own: KeyError: 'mask'"


@pytest.mark.parametrize("told", ("text", {"kind": "OperationRaised"}, {"kind": 1, "sentence": "a"}))
def test_an_error_that_is_not_clear_is_refused(told: object) -> None:
    with pytest.raises(MalformedFrame):
        messages.error_in(Frame({"error": told}), "softmax")


def test_results_are_no_error() -> None:
    assert messages.error_in(Frame({"results": []}), "softmax") is None
