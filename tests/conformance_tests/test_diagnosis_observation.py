"""Which calls a diagnosis rests on, and what a call that rounding blurs says all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.diagnosis.elimination import Elimination
from veriformer.conformance_tests.diagnosis.observation import Observation, calm
from veriformer.conformance_tests.diagnosis.work import Work
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.variants import Point

OPERATION = "scaled_dot_product_attention"
RIGHT = np.array([1.0, np.nan])


def observation(output: Any, right: Any = RIGHT, argument: float = 1.0, rounding: float = 1e-6) -> Observation:
    output, right = np.asarray(output), np.asarray(right)
    every = np.ones(right.shape, dtype=bool)
    return Observation(
        {"x": np.array([argument])}, output, right, every, np.full(right.shape, 1e-6), rounding, 2.0**-24
    )


def test_what_stands_instead_of_nan_says_nothing_beside_other_calls_that_are_wrong() -> None:
    garbage, wrong, fine = observation([1.0, 7e20]), observation([2.0, 7e20]), observation(RIGHT)
    assert calm([garbage, wrong, fine]) == [wrong, fine]
    assert calm([garbage, fine]) == [garbage, fine]


def test_what_overflowed_is_left_out_first() -> None:
    overflowed, garbage = observation([np.inf, np.nan], argument=100.0), observation([1.0, 0.0])
    assert calm([overflowed, garbage]) == [garbage]
    assert calm([overflowed]) == [overflowed]


def attention(**options: str) -> Point:
    family = family_of(OPERATION)
    assert family is not None
    return family.under(standard_conventions()).changed(*options.items())


def test_a_call_that_rounding_blurs_speaks_against_what_leaves_it_as_it_should_be() -> None:
    """Nothing else is known of the program: any change of the formula is an explanation of no call."""
    case = AttentionCase(1, 1, 1, 3, 4, 4, 2, dtype="float64", palette="normal")
    arguments = {**draw_inputs(OPERATION, case).arguments(), "dtype": "float64"}
    right, wrong = attention().compute(arguments), attention(scale="missing").compute(arguments)
    every = np.ones(right.shape, dtype=bool)
    blurred = Observation(arguments, wrong, right, every, np.full(right.shape, 1e-12), rounding=10.0, unit=1e-16)
    assert blurred.deviates
    assert not blurred.says_much
    search = Elimination(attention(), [], iter(()), lambda inputs: None, Work(), float("inf"), doubtful=[blurred])
    assert search.explains((("scale", "missing"),))
    # Without a mask it returns what is right.
    assert not search.explains((("mask_heeded", "never"),))
    search.doubtful.clear()
    assert search.explains((("mask_heeded", "never"),))


def test_calls_of_large_models_leave_most_of_the_work_for_the_search() -> None:
    asked, work = [], Work()

    def large(inputs: Any) -> None:
        work.observe(1000)
        asked.append(inputs)

    Elimination(attention(), [], iter(range(60)), large, work, end=100_000).confirm()
    assert 1 <= len(asked) <= 6


def test_a_second_mistake_that_shows_in_nothing_is_not_told() -> None:
    """The search may end before single mistakes are tried under every convention; pairs then have idle members."""
    case = AttentionCase(1, 1, 1, 3, 4, 4, 2, dtype="float64", palette="normal")
    arguments = {**draw_inputs(OPERATION, case).arguments(), "dtype": "float64"}
    right, wrong = attention().compute(arguments), attention(scale="missing").compute(arguments)
    every, rounding = np.ones(right.shape, dtype=bool), 1e-14
    call = Observation(arguments, wrong, right, every, np.full(right.shape, rounding), rounding, unit=1e-16)
    found = Elimination(attention(), [call], iter(()), lambda inputs: None, Work(), float("inf")).in_pairs()
    assert (("scale", "missing"),) in found
    assert all(len(changes) == 1 for changes in found if ("scale", "missing") in changes)
