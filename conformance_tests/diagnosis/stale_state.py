"""Stale state: what a program keeps of earlier calls, found by calls in a row on copies that have just been loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from veriformer.adapters.errors import AdapterError
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.diagnosis.calls import Calls
from veriformer.conformance_tests.diagnosis.interface_laws import RANDOM, STALE_STATE
from veriformer.conformance_tests.diagnosis.observation import arguments_of, result_at
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import NoSpace
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.variants import Point

_ROWS_OF_CALLS = 12
_NEAR = 1e-3
_APART = 1e-2
# By whose keys the last of three calls used, other than its own: those of the first call, or of the call before.
_MISTAKES = {"first": "keys_cached_by_shape", "before": "keys_of_the_call_before"}


def contradicted(made: Calls, point: Point) -> frozenset[str]:
    """Return the mistakes of stale state that copies of the program do not make; they compute what `point` does.

    Empty where the results do not depend on earlier calls, or where no copy can be loaded.
    """
    if not (made.afresh and made.loads_again):
        return frozenset()
    used = Counter(whose for row in _rows(made) for whose in _whose_keys(made, point, row))
    for whose, mistake in _MISTAKES.items():
        if used[whose] > used["own"]:
            return frozenset({*STALE_STATE, RANDOM} - {mistake})
    return frozenset(_MISTAKES.values()) if used["own"] else frozenset()


def _rows(made: Calls) -> Iterator[tuple[Inputs, Inputs, Inputs]]:
    """Yield rows of three inputs of one shape, with different values."""
    name = made.subject.operation.name
    space, random = own_space(name), Random(made.limits.seed)
    if isinstance(space, NoSpace):
        return
    choice = cases(space, made.limits)
    for _ in range(_ROWS_OF_CALLS):
        case: Any = choice.sample(random)
        first, second, third = (draw_inputs(name, replace(case, seed=case.seed + by)) for by in range(3))
        yield first, second, third


def _answers(made: Calls, row: tuple[Inputs, ...]) -> list[Array]:
    """Return the results of a copy for calls in a row on arrays of their own; fewer results where a call raises."""
    subject, answers = made.copy(), []
    try:
        prepared = [subject.prepare(inputs) for inputs in row]
        for call, inputs in zip(prepared, row, strict=True):
            answers.append(np.asarray(subject.run(call, inputs).value, dtype=np.float64))
    except AdapterError:
        pass
    return answers


def _whose_keys(made: Calls, point: Point, row: tuple[Inputs, Inputs, Inputs]) -> Iterator[str]:
    """Yield whose keys the third call used, where its result shows it."""
    first, before, own = (arguments_of(inputs) for inputs in row)
    answers = _answers(made, row)
    if "key" not in own or len(answers) < len(row):
        return
    keys: Mapping[str, Array] = {"own": own["key"], "before": before["key"], "first": first["key"]}
    results = {whose: result_at(point, {**own, "key": key}) for whose, key in keys.items()}
    fitting = [whose for whose, result in results.items() if result is not None and _is(result, answers[-1], _NEAR)]
    others = [result for whose, result in results.items() if whose not in fitting]
    if len(fitting) == 1 and all(one is not None and not _is(one, answers[-1], _APART) for one in others):
        yield fitting[0]


def _is(result: Array, answer: Array, part: float) -> bool:
    size = float(np.abs(answer[np.isfinite(answer)]).max(initial=0.0))
    return result.shape == answer.shape and bool(
        np.allclose(result, answer, rtol=0.0, atol=part * size, equal_nan=True)
    )
