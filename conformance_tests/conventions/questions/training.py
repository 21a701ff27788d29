"""Questions about training: what is added to the norm of gradients, where a warm-up starts, which weights decay."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.conventions.asking import Answer, Asking
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.clipping.inputs import ClipInputs
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.models.trees import arrays_by_path
from veriformer.conformance_tests.operations.schedules.inputs import CosineInputs
from veriformer.conformance_tests.operations.suites import suite_of
from veriformer.reference.training import decays

# A power of two so small that 1e-6 is nearly the norm of 3 and 4 times as much; float16 does not hold its square.
_TINY = 2.0**-22
# The decay takes away the half of a weight, and an eighth of its largest entry shows that it did: rounding moves it by
# less, even to bfloat16.
_RATE, _DECAY = 1.0, 0.5
_SHOWN = 0.125


def clip_norm_eps(asking: Asking) -> Answer:
    """Ask with gradients so small that 1e-6 is a share of their norm."""
    gradients = np.array([[3.0, 0.0]]) * _TINY, np.array([0.0, -4.0, 0.0]) * _TINY
    return asking.compared([ClipInputs(asking.widest, gradients, 2.0 * _TINY)])


def warmup_start(asking: Asking) -> Answer:
    """Ask at the first steps of a short warm-up, without a least rate, which might have a part in it by mistake."""
    return asking.compared([CosineInputs(step, 1.0, 0.0, 4, 10, asking.widest) for step in (0, 1, 3)])


def decayed_weights(asking: Asking) -> Answer:
    """Ask with a large decay and with none: the weights that a step then moves elsewhere are those that decay.

    The gradients are the same in both calls, so that nothing that is wrong with them hides the answer.
    """
    architectures = asking.subject.implementation.architectures.get(asking.operation, ())
    if not architectures:
        return Answer(None, reason="no architecture of its models is known")
    suite: Any = suite_of(asking.operation)
    heads = {"width": 8, "heads": 2, "kv_heads": 2, "hidden": 8, "vocabulary": 7}
    case = replace(suite.ordinary, architecture=architectures[0], dtype=asking.widest, learning_rates=(_RATE,), **heads)
    inputs: Any = draw_inputs(asking.operation, replace(case, weight_decay=_DECAY, seed=7))
    with_decay, without = asking.result(inputs), asking.result(replace(inputs, weight_decay=0.0))
    if with_decay is None or without is None:
        return Answer(())
    weights = arrays_by_path(inputs.weights)
    parts = {path: inputs.part(f"weights.{path}") for path in weights}
    moved = {path for path, part in parts.items() if _differ(part(with_decay), part(without), weights[path])}
    fits = [value for value in asking.values if moved == {path for path in weights if _decays(path, value)}]
    came = f"with a decay, the step led elsewhere for {_names(moved)}; not for {_names(weights.keys() - moved)}"
    return Answer(tuple(fits), (asking.evidence(inputs, came, fits, with_decay),))


def _decays(path: str, value: Any) -> bool:
    return decays(path.rpartition(".")[2], value)


def _differ(first: Array, second: Array, weight: Array) -> bool:
    with np.errstate(invalid="ignore"):
        largest = np.abs(first - second).max(initial=0.0)
    return bool(largest > _SHOWN * np.abs(weight).max(initial=0.0))


def _names(paths: Collection[str]) -> str:
    """Return the names of weights in their records, each once, whichever layers have them."""
    return ", ".join(sorted({path.rpartition(".")[2] for path in paths})) or "none"
