"""Fingerprints, layouts and formulas, by which models are matched where no part is recognised."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.adapters.capture.recorder import Recorder
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.common_values import CommonValues, Numbers
from veriformer.conformance_tests.ports.fingerprints import fingerprint, says_something
from veriformer.conformance_tests.ports.formulas import formula_of
from veriformer.conformance_tests.ports.layouts import is_laid_out
from veriformer.conformance_tests.recognition.flow import Flow

_X = np.random.default_rng(0).normal(size=(4, 3, 5))


def test_no_order_sign_or_factor_changes_a_fingerprint() -> None:
    other = -2.5 * np.random.default_rng(1).permutation(_X.ravel())
    assert fingerprint(other)[1:] == pytest.approx(fingerprint(_X)[1:])
    assert fingerprint(other)[0] == pytest.approx(2.5 * fingerprint(_X)[0])
    assert fingerprint(_X**3)[1:] != pytest.approx(fingerprint(_X)[1:])


@pytest.mark.parametrize(
    "array", [np.zeros((4, 4)), np.tril(np.ones((5, 5))), np.arange(9.0), np.arange(3), _X[0, 0, :2]]
)
def test_what_is_alike_everywhere_says_nothing(array: Array) -> None:
    assert not says_something(array)


def test_a_layout_is_told_from_another_order() -> None:
    assert is_laid_out(_X, _X.transpose(2, 0, 1).reshape(5, 12))
    assert is_laid_out(_X, _X.reshape(2, 2, 15).swapaxes(0, 2))
    assert is_laid_out(_X, _X[::-1]) is False
    assert is_laid_out(_X, np.roll(_X, 1, axis=1)) is False
    assert is_laid_out(_X, _X[[0, 3, 1, 2]]) is False
    assert is_laid_out(_X, _X**2) is None


def _flow(results: list[Array], given: Array = _X) -> Flow:
    recorder = Recorder()
    start = recorder.add(given, "input", "x")
    last = start
    for result in results:
        (last,) = recorder.step("step", Kind.OTHER, [start], [result])
    return Flow(recorder.trace("none", [start], [last]))


@pytest.mark.parametrize(
    ("result", "name", "constant"),
    [
        (_X * 0.25, "factor", 0.25),
        (_X + 1e-5, "shift", 1e-5),
        (np.maximum(_X, 0), "relu", None),
        (np.exp(_X), "exp", None),
        (_X.mean(1), "sum over an axis", None),
        (_X.max(-1, keepdims=True), "maximum over an axis", None),
        (np.cumsum(_X, 1), "running sum", None),
    ],
)
def test_a_step_is_known_by_its_numbers(result: Array, name: str, constant: float | None) -> None:
    flow = _flow([result])
    found = formula_of(flow, flow.steps[0])
    assert found.name == name
    assert found.constant == (None if constant is None else pytest.approx(constant))


def test_what_numbers_do_not_tell_has_the_name_of_the_framework() -> None:
    flow = _flow([np.random.default_rng(2).normal(size=_X.shape)])
    assert formula_of(flow, flow.steps[0]).name == "operation step"


def _common(mine: list[Array], theirs: list[Array]) -> CommonValues:
    return CommonValues(Numbers(_flow(mine), 1e-9), Numbers(_flow(theirs), 1e-9))


def test_values_are_found_in_another_layout_in_pieces_and_but_for_a_factor() -> None:
    y, z = np.sin(_X), np.tanh(_X)
    found = _common([y.transpose(2, 1, 0), z[:, 1], -3 * y, np.cos(_X)], [y, z])
    assert found.same(1) == (1,)
    assert found.pieces(2) == (2,)
    assert [one.factor for one in found.scaled(3)] == [pytest.approx(-3.0)]
    assert not found.has(4) and not found.scaled(4)


def test_a_loop_is_found_in_what_is_computed_at_once() -> None:
    y = np.sin(_X)
    found = _common([y], [y[0], y[1], y[2], y[3]])
    assert found.has(1)
    assert not _common([y], [y[0], y[1], y[2], 2 * y[3]]).has(1)
