"""How a value of the second model comes from that of the first, where no weight and no choice explains it."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.arrangements import factor_in_words
from veriformer.conformance_tests.ports.cuts import apart, ways
from veriformer.conformance_tests.ports.findings import Cause
from veriformer.conformance_tests.ports.items import Cut
from veriformer.conformance_tests.recognition.agreement import SINGLE, agree

_NAME = "none that is known"
# A model in float64 may have a few steps in float32.
_UNIT = SINGLE / 64


def cause_of_values(first: Cut, second: Cut) -> Cause:
    """Return what two values have to do with each other: a factor, a vector that is missing, or nothing known."""
    before = f"what is computed up to here is the same, and B's {second.key}"
    where = second.path or "the model"
    if first.array.size == second.array.size:
        for way in ways(first.array, second.array) if first.heads is None else [second.array]:
            if way.shape != first.array.shape:
                continue
            factor = _factor(first.array, way)
            if factor is not None:
                words = factor_in_words(factor, first.array.shape[-1:])
                return Cause(
                    "factor",
                    "scaled",
                    f"{before} is A's times {words}",
                    1.0,
                    f"{where}: divide the {second.key} by {words}",
                )
            if _differ_by_a_vector(first.array, way):
                sentence = f"{before} differs from A's by one vector, the same at every position: a bias"
                return Cause("mistake", "bias", sentence, 0.8, f"{where}: add the bias that A adds to the {second.key}")
    far = apart(first.array, second.array, first.heads)
    words = f"differs from A's by {far:.1e} of its largest entry" if far < float("inf") else "has another size"
    return Cause("unknown", _NAME, f"{before} {words}; the cause is none that is known", 0.0)


def _factor(first: Array, second: Array) -> float | None:
    size = float((first * first).sum())
    factor = float((first * second).sum()) / size if size and np.isfinite(size) else 0.0
    if not factor or not np.isfinite(factor) or abs(factor - 1.0) < 1e-6:
        return None
    return factor if agree(second, factor * first, _UNIT) else None


def _differ_by_a_vector(first: Array, second: Array) -> bool:
    left = (second - first).reshape(-1, first.shape[-1])
    return len(left) > 1 and agree(left, np.broadcast_to(left[:1], left.shape), _UNIT)


def cause_of_results(logits: Array, first: Array, second: Array, path: str) -> Cause:
    """Return what one of two models does to the last values that both compute alike, and the other does not."""
    where = path or "the model"
    caps = [_cap(logits, result) for result in (first, second)]
    if caps[0] != caps[1]:
        words = ["they are not capped" if cap is None else f"they are capped at ±{cap:.6g}" for cap in caps]
        sentence = f"the last values are the same; in A {words[0]}, in B {words[1]}"
        return Cause("convention", "softcap", sentence, 1.0, f"{where}: do to the last values what A does: {words[0]}")
    return cause_of_values(
        Cut("results", "unembedding", 0, path, first), Cut("results", "unembedding", 0, path, second)
    )


def _cap(logits: Array, result: Array) -> float | None:
    """Return c where result = c · tanh(logits / c); None where it is not so."""
    if logits.size != result.size:
        return None
    x, y = logits.ravel(), result.ravel()
    at = int(np.argmax(np.abs(x)))
    goal = abs(float(y[at]))
    if not 0 < goal < abs(float(x[at])):
        return None
    low, high = goal, 1e6 * goal
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * np.tanh(abs(x[at]) / middle) < goal else (low, middle)
    return float(f"{low:.6g}") if agree(y, low * np.tanh(x / low), _UNIT) else None
