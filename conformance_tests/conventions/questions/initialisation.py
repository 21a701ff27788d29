"""Questions about initial weights: which variance projections have, those of the stream, and biases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.conventions.asking import Answer, Asking
from veriformer.conformance_tests.core.expected import Conventions
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.initialisation.arrays import (
    is_bias,
    is_projection,
    name_of,
    variance,
)
from veriformer.conformance_tests.operations.initialisation.cases import InitialCase
from veriformer.conformance_tests.operations.initialisation.explaining import centred, small
from veriformer.conformance_tests.operations.initialisation.inputs import InitialInputs
from veriformer.reference.initialisation import RESIDUAL_WEIGHTS
from veriformer.spec.conventions import CONVENTIONS

# Two hidden units and a half for each component: then no two values of a convention have similar variances.
_ASKED = {"layers": 3, "width": 64, "heads": 4, "hidden": 160, "vocabulary": 24}
# Whether an array is as conventions say.
_Explained = Callable[[str, Array, Conventions], bool]


def initial_deviation(asking: Asking) -> Answer:
    """Ask which value explains most of the projections that do not write into the stream."""
    inputs = _inputs(asking)
    return _told(asking, inputs, _reads_the_stream, _of_variance(inputs))


def initial_residual(asking: Asking) -> Answer:
    """Ask which value explains most of the others."""
    inputs = _inputs(asking)
    return _told(asking, inputs, lambda path: name_of(path) in RESIDUAL_WEIGHTS, _of_variance(inputs))


def _reads_the_stream(path: str) -> bool:
    return is_projection(path) and name_of(path) not in RESIDUAL_WEIGHTS


def _of_variance(inputs: InitialInputs) -> _Explained:
    return lambda path, array, conventions: centred(array, variance(path, inputs.config, conventions))


def initial_bias(asking: Asking) -> Answer:
    """Ask whether biases are zeros, or uniform."""
    inputs = _inputs(asking)
    if not inputs.config.biases:
        return Answer(None, reason="its architecture has no biases")

    def is_explained(path: str, array: Array, conventions: Conventions) -> bool:
        if conventions["initial_bias"] == "zero":
            return not array.any()
        return bool(array.any()) and small(array, reference.bias_inputs(name_of(path), inputs.config))

    return _told(asking, inputs, is_bias, is_explained)


def _inputs(asking: Asking) -> InitialInputs:
    """Return the question, to an architecture with biases where there is one."""
    offered = asking.subject.implementation.architectures.get(asking.operation, ())
    architecture = next((name for name in offered if name != "llama"), "llama")
    case = InitialCase(architecture, kv_heads=4, weights_seed=7, dtype=asking.dtype, **_ASKED)
    return InitialInputs.draw(asking.operation, case)


def _told(asking: Asking, inputs: InitialInputs, asked: Callable[[str], bool], is_explained: _Explained) -> Answer:
    """Return the values that explain most arrays, if they explain any: a mistake in one array hides nothing."""
    result = asking.result(inputs)
    if result is None:
        return Answer(())
    arrays = inputs.arrays(result)
    found = {path: array for path, array in arrays.items() if asked(path)}
    conventions = asking.subject.conventions
    counts = {
        value: sum(
            is_explained(path, array, {**conventions, asking.convention: value}) for path, array in found.items()
        )
        for value in asking.values
    }
    # A value that has to be declared hides none of the others.
    most = max(counts[value] for value in CONVENTIONS[asking.convention].inferred_values)
    fits = tuple(value for value, count in counts.items() if count >= most and count > 0)
    means = ", ".join(f"{path} {np.square(array).mean():.3g}" for path, array in list(found.items())[:6])
    return Answer(fits, (asking.evidence(inputs, f"mean squares of {means}", fits, result),))
