"""How a value of the second model comes from that of the first, where no weight and no choice explains it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.alignment import Pair
from veriformer.conformance_tests.ports.cuts import apart, last_cut, ways
from veriformer.conformance_tests.ports.findings import Cause
from veriformer.conformance_tests.ports.hypotheses import UNIT, Known, explained, where_they_differ
from veriformer.conformance_tests.ports.items import Cut
from veriformer.conformance_tests.recognition.agreement import agree

NOTHING = Known({}, {})
"""Where nothing is known that came before."""


def cause_of_values(first: Cut, second: Cut, known: Known = NOTHING) -> Cause:
    """Return what two values have to do with each other: a factor, a vector that is missing, or nothing known."""
    before = f"what is computed up to here is the same, and B's {second.key}"
    where = second.path or "the model"
    nearby = ""
    if first.array.size == second.array.size:
        for way in ways(first.array, second.array) if first.heads is None else [second.array]:
            if way.shape != first.array.shape:
                continue
            found = explained(first.array, way, known)
            if found is not None:
                sentence, change = f"{before} {found.words}", f"{where}: {second.key}: {found.change}"
                return Cause(found.kind, found.name, sentence, found.confidence, change)
            nearby = nearby or where_they_differ(first.array, way)
    far = apart(first.array, second.array, first.heads)
    words = f"differs from A's by {far:.1e} of its largest entry" if far < float("inf") else "has another size"
    return Cause.unknown(f"{before} {words}{nearby}; the cause is none that is known")


def known_before(pairs: Sequence[Pair], pair: Pair, cut: Cut) -> Known:
    """Return what the first model has computed before a value, in its part and before it, and the vectors there."""
    own = pair[0]
    if own is None:
        return NOTHING
    values: dict[str, Array] = {}
    at = pairs.index(pair)
    stream = next((last_cut(one) for one, _ in reversed(pairs[:at]) if one is not None), None)
    if stream is not None:
        values["stream that the part reads"] = stream.array
    items = own.items[: own.items.index(cut)] if cut in own.items else own.items
    values |= {item.key: item.array for item in items if isinstance(item, Cut)}
    vectors = {
        weight.key: weight.array.ravel()
        for weight in own.weights()
        if weight.array is not None and (weight.array.ndim == 1 or weight.key.endswith("bias"))
    }
    return Known(values, vectors)


def cause_of_results(logits: Array, first: Array, second: Array, path: str) -> Cause:
    """Return what one of two models does to the last values that both compute alike, and the other does not."""
    where = path or "the model"
    caps = [_cap(logits, result) for result in (first, second)]
    if caps[0] != caps[1] and not _scaled(first, second):
        words = ["they are not capped" if cap is None else f"they are capped at ±{cap:.6g}" for cap in caps]
        sentence = f"the last values are the same; in A {words[0]}, in B {words[1]}"
        return Cause("convention", "softcap", sentence, 1.0, f"{where}: do to the last values what A does: {words[0]}")
    return cause_of_values(
        Cut("results", "unembedding", 0, path, first), Cut("results", "unembedding", 0, path, second)
    )


def _scaled(first: Array, second: Array) -> bool:
    """Return whether one result is the other times a number, as those under very different caps are not."""
    return explained(first, second, NOTHING) is not None if first.size == second.size else False


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
    return float(f"{low:.6g}") if agree(y, low * np.tanh(x / low), UNIT) else None
