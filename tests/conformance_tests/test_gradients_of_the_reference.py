"""Every backward pass of the reference against differences of its forward pass, on the cases that laws draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.calling import plain_arguments
from veriformer.adapters.loading import load
from veriformer.adapters.model_declarations import ARCHITECTURES
from veriformer.adapters.weights import arrays_in, converted
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.parts import parts_of
from veriformer.conformance_tests.operations.suites import suite_of
from veriformer.spec.operations import OPERATIONS

BACKWARD = [name for name, operation in OPERATIONS.items() if operation.forward]
CASES = 12
STEPS = (1e-5, 1e-7)


def cases_of(operation: str) -> list[Inputs]:
    """Return inputs of an operation in float64, without coincidences."""
    suite, random = suite_of(operation), Random(0)
    features, architectures = frozenset(OPERATIONS[operation].features), ARCHITECTURES.get(operation, ())
    limits = Limits(operation, ("float64",), features, architectures=architectures)
    drawn = suite.draw(suite.space("sometimes"), limits)
    cases = (drawn.sample(random) for _ in range(500))
    plain = (case for case in cases if case.palette == "normal" and getattr(case, "amplitude", 1) == 1)
    found = [suite.inputs.draw(operation, case) for case in plain]
    assert len(found) >= CASES
    return found[:CASES]


def loss(operation: str, arguments: Mapping[str, Any], cotangents: Sequence[np.ndarray]) -> float:
    """Return ⟨cotangents, results of the forward pass⟩."""
    forward = OPERATIONS[OPERATIONS[operation].forward]
    positional = [arguments[name] for name in forward.positional]
    keywords = {name: value for name, value in arguments.items() if name not in forward.positional}
    returned = load("numpy").operations[forward.name](*positional, **keywords)
    results = returned if forward.results else (returned,)
    return float(sum(np.sum(one * result) for one, result in zip(cotangents, results, strict=True)))


def is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)


def leaves(operation: str, arguments: Mapping[str, Any]) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """Yield each array that gradients are by: its argument, its number among the argument's arrays, and its shape."""
    for name in OPERATIONS[operation].differentiated:
        for place, (_, array) in enumerate(arrays_in(name, arguments[name], is_array)):
            yield name, place, array.shape


def moved(argument: object, place: int, step: np.ndarray) -> Any:
    """Return an argument, one array of which is moved by a step."""
    places = count()
    return converted(argument, is_array, lambda array: array + step if next(places) == place else array)


def slope(
    operation: str,
    arguments: Mapping[str, Any],
    cotangents: Sequence[np.ndarray],
    name: str,
    by: tuple[int, np.ndarray],
    step: float,
) -> float:
    """Return the slope of the loss along a direction of one array of an argument, by a central difference."""
    place, direction = by
    ahead, behind = (
        loss(operation, {**arguments, name: moved(arguments[name], place, way * direction)}, cotangents)
        for way in (step, -step)
    )
    return (ahead - behind) / (2.0 * step)


# Those of layers and of whole models have hundreds of weights, each moved twice.
BY_SIZE = [
    pytest.param(name, marks=[pytest.mark.long] if "layer_b" in name or "coder_" in name or "model" in name else [])
    for name in BACKWARD
]


@pytest.mark.parametrize("operation", BY_SIZE)
def test_a_gradient_is_the_slope_of_the_forward_pass(operation: str) -> None:
    generator = np.random.default_rng(0)
    for inputs in cases_of(operation):
        arguments = plain_arguments(OPERATIONS[operation], inputs.arguments())
        cotangents = [arguments.pop(name) for name in OPERATIONS[operation].cotangents]
        value = inputs.expected(standard_conventions()).value
        for (name, place, shape), part in zip(leaves(operation, arguments), parts_of(inputs).values(), strict=True):
            direction = generator.standard_normal(shape)
            terms = part(value) * direction
            size = float(np.abs(terms).sum() + sum(np.abs(one).sum() for one in cotangents))
            by = (place, direction)
            slopes = [slope(operation, arguments, cotangents, name, by, step) for step in STEPS]
            # A long step may straddle the kink of a ReLU.
            assert any(float(terms.sum()) == pytest.approx(one, abs=1e-7 * (1.0 + size)) for one in slopes), name
