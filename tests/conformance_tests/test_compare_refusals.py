"""What one of two implementations refuses is said once, all else is compared, and rare cases are met as by the laws."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console
from veriformer import reference
from veriformer.conformance_tests.comparison.comparing import compare_implementations
from veriformer.conformance_tests.comparison.comparison import Cause, Comparison, OperationComparison
from veriformer.conformance_tests.reports.comparison_json import comparison_as_json
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.two_implementations import details, outcome_words, summary

Array = np.ndarray


def rms_norm(x: Array, gamma: Array, *, eps: float) -> Array:
    return reference.rms_norm(x, gamma, eps=eps).astype(x.dtype)


def of_divisible_widths(divisor: int, **declared: Any) -> SimpleNamespace:
    """Return a norm that raises for widths that have not the divisor."""

    def refusing(x: Array, gamma: Array, *, eps: float) -> Array:
        if x.shape[-1] % divisor:
            raise ValueError("no kernel for this width")
        return rms_norm(x, gamma, eps=eps)

    return SimpleNamespace(framework="numpy", rms_norm=refusing, **declared)


RIGHT = SimpleNamespace(framework="numpy", rms_norm=rms_norm)


def compared(first: object, second: object) -> tuple[Comparison, OperationComparison]:
    comparison = compare_implementations(first, second, operations=("rms_norm",), tier="quick")
    (operation,) = comparison.operations
    return comparison, operation


def shown(comparison: Comparison) -> str:
    console = Console(width=200, record=True)
    with console.capture() as capture:
        for line in details(comparison, Options(width=200)):
            console.print(line)
    words = [outcome_words(operation, comparison) for operation in comparison.operations]
    return "\n".join([*words, capture.get(), summary(comparison)])


def test_what_the_port_refuses_is_said_once_and_the_rest_is_compared() -> None:
    comparison, operation = compared(RIGHT, of_divisible_widths(2))
    assert (operation.differences, operation.unjudged, operation.reason) == ((), 0, "")
    assert operation.cases >= 24
    assert operation.refused_by_one == ((), ("rms_norm refuses odd E",))
    # It raises where the original answers.
    assert (comparison.verdict, comparison.exit_status) == ("part", 1)
    text = shown(comparison)
    assert text.count("rms_norm refuses odd E; it raised ValueError: no kernel for this width") == 1
    assert "otherwise they agree" in text
    assert "take odd E too (rms_norm)" in text
    assert "0 by a mistake, 1 by what one refuses" in text
    told = comparison_as_json(comparison)["operations"][0]
    assert (told["status"], len(told["refusals"][0]), len(told["refusals"][1])) == ("part", 0, 1)
    json.dumps(told, allow_nan=False)


def test_a_mistake_is_found_where_the_port_answers() -> None:
    def doubled(x: Array, gamma: Array, *, eps: float) -> Array:
        return 2 * of_divisible_widths(2).rms_norm(x, gamma, eps=eps)

    _, operation = compared(RIGHT, SimpleNamespace(framework="numpy", rms_norm=doubled))
    assert operation.causes == (Cause("first"),)
    assert operation.refused_by_one == ((), ("rms_norm refuses odd E",))


def test_what_both_refuse_is_said_and_parts_them_in_nothing() -> None:
    comparison, operation = compared(of_divisible_widths(2), of_divisible_widths(2))
    assert operation.agrees
    assert [len(refusals) for refusals in operation.refusals] == [1, 1]
    assert shown(comparison).count("refuses odd E") == 2


def test_what_one_refuses_among_more_that_the_other_refuses_is_no_difference() -> None:
    _, operation = compared(of_divisible_widths(2), of_divisible_widths(4))
    assert operation.refused_by_one == ((), ("rms_norm refuses E not divisible by 4",))


def test_a_limitation_that_is_declared_parts_them_in_nothing() -> None:
    comparison, operation = compared(RIGHT, of_divisible_widths(2, limitations=("odd_width",)))
    assert operation.agrees
    assert "refuses odd E" in shown(comparison)


def test_rare_cases_are_compared() -> None:
    def absolute(x: Array, gamma: Array, *, eps: float) -> Array:
        return rms_norm(x, np.where(gamma == 0, 1, gamma).astype(gamma.dtype), eps=eps)

    comparison, operation = compared(RIGHT, SimpleNamespace(framework="numpy", rms_norm=absolute))
    assert operation.causes == (Cause("first"),)
    assert "gamma" in operation.differences[0].case.describe()
    assert operation.differences[0].case.describe() in shown(comparison)
    json.dumps(comparison_as_json(comparison), allow_nan=False)
