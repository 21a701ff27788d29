"""The order of laws, and what a second measurement adds to the kill matrix."""

from __future__ import annotations

from types import ModuleType

from veriformer.conformance_tests.mistakes import planted
from veriformer.conformance_tests.mistakes.kills import Killed, KillMatrix

VALUE, SHIFT, DTYPE = "softmax.value", "softmax.shift", "softmax.dtype"


def killed(name: str, *broken: str) -> Killed:
    return Killed(name, "slug", "layers_numpy", broken)


def test_the_law_that_catches_most_of_the_rest_for_its_time_comes_next(benchmark: ModuleType) -> None:
    mistakes = (killed("a", VALUE, SHIFT), killed("b", VALUE, SHIFT), killed("c", VALUE), killed("d", DTYPE))
    # Three for 10 ms are fewer for the time than two for 4 ms; then one is left to each of the others.
    matrix = KillMatrix("quick", 0, {VALUE: 10, SHIFT: 4, DTYPE: 3}, mistakes)
    assert benchmark.greedy_order(matrix) == [SHIFT, DTYPE, VALUE]
    cheaper = KillMatrix("quick", 0, {VALUE: 1, SHIFT: 4, DTYPE: 3}, mistakes)
    assert benchmark.greedy_order(cheaper) == [VALUE, DTYPE, SHIFT]


def test_rows_add_mistakes_in_the_order_of_planting_and_laws_to_those_known(benchmark: ModuleType) -> None:
    first, second = (mistake.name for mistake in planted()[:2])
    matrix = KillMatrix("quick", 0, {VALUE: 5}, (killed(second, VALUE),))
    rows = [
        benchmark.Row(killed(first, SHIFT), "numpy", 1.0, 1.0, {VALUE: 0.9, SHIFT: 0.002}),
        benchmark.Row(killed(second, DTYPE), "numpy", 1.0, 1.0, {DTYPE: 0.004}),
    ]
    whole = benchmark.joined(matrix, rows)
    assert [mistake.name for mistake in whole.mistakes] == [first, second]
    assert {mistake.name: set(mistake.broken) for mistake in whole.mistakes} == {first: {SHIFT}, second: {VALUE, DTYPE}}
    # What is known of a law's time stays: the order of laws does not change with every run.
    assert dict(whole.milliseconds) == {VALUE: 5, SHIFT: 2, DTYPE: 4}


def test_a_programs_laws_and_times_are_measured(benchmark: ModuleType) -> None:
    mistake = next(mistake for mistake in planted() if mistake.laws[0] == "alibi.slopes.geometric")
    row = benchmark.measured(mistake, tier="quick", seed=0, only=("alibi.*",))
    assert set(mistake.laws) <= set(row.killed.broken) <= set(row.law_seconds)
    assert 0.0 < sum(row.law_seconds.values()) <= row.seconds
    stopped = benchmark.measured(mistake, tier="quick", seed=0, fail_fast=True)
    assert len(stopped.killed.broken) == 1
