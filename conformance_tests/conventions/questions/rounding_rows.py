"""Rows of logits and values on which a quantity that is rounded to 16 bits shows beyond what fused kernels may err.

Drawn at random and kept where that quantity alone, rounded, moves the result by more than the fused bound: a program
that rounds it leaves the bound there, and one that stays within it on all of them keeps the quantity in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.conformance_tests.rounding.representable import stored

Result = Literal["output", "weights", "softmax", "gradients"]
HEAD_WIDTH = 24
# No power of two, so that a query that is scaled before the product is rounded.
SCALE = HEAD_WIDTH**-0.5
# How much beyond the bound a rounded quantity must be, and rows of each quantity and sign, of as many drawn.
_BEYOND = 1.02
_OF_EACH = 2
_DRAWN = {"sums": 80_000, "sums of unnormalised weights": 80_000, "exponentials": 20_000}
_DRAWN_OF_LOGITS = 4_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one query each, N of them: a nearest key and two groups of equal keys, each with a value.

    The query is (x, y), the nearest key (k, 0) and the others (0, k): `query` is (N, 2), `key`, `value` and `count`,
    the number of keys of a group, are (N, 3). Rows of a softmax have queries and a scale of 1.
    """

    scale: float
    query: Array
    key: Array
    value: Array
    count: Array

    def taken(self, index: Array) -> Rows:
        """Return the rows at `index`."""
        return Rows(self.scale, self.query[index], self.key[index], self.value[index], self.count[index])

    @property
    def facing(self) -> Array:
        """The component of the query that each key meets."""
        return np.asarray(self.query[:, [0, 1, 1]])

    @property
    def logits(self) -> Array:
        """The exact logits."""
        return np.asarray(self.scale * self.facing * self.key)

    def together(self, amounts: Array) -> Array:
        """Return the sum of an amount of each key over all keys, (N, 1)."""
        return np.asarray(np.sum(self.count * amounts, axis=-1, keepdims=True))

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """Return all rows of several."""
        names = ("query", "key", "value", "count")
        return cls(parts[0].scale, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class _Eager:
    """What is rounded on the way from logits to a result."""

    precision: Precision
    quantity: str

    def round(self, amounts: Array, *quantities: str) -> Array:
        return stored(amounts, self.precision) if self.quantity in quantities else amounts

    def logits(self, rows: Rows) -> Array:
        facing, key, root = rows.facing, rows.key, np.sqrt(rows.scale)
        if self.quantity == "scaled queries":
            return np.asarray(stored(rows.scale * facing, self.precision) * key)
        if self.quantity == "halves of the scale":
            return np.asarray(stored(root * facing, self.precision) * stored(root * key, self.precision))
        return self.round(rows.scale * self.round(facing * key, "products"), "logits")

    def result(self, rows: Rows, of: Result) -> Array:
        logits = self.logits(rows)
        distance = self.round(logits - logits.max(axis=-1, keepdims=True), "differences")
        exponentials = self.round(np.exp(distance), "exponentials")
        after = "sums of unnormalised weights"
        total = self.round(rows.together(exponentials), "sums", after)
        if self.quantity == after and of == "output":
            return stored(rows.together(stored(exponentials, self.precision) * rows.value) / total, self.precision)
        weights = stored(exponentials / total, self.precision)
        return stored(rows.together(weights * rows.value), self.precision) if of == "output" else weights


def _logits_apart(generator: np.random.Generator, number: int, depth: tuple[float, float], top: float) -> Array:
    nearest = generator.uniform(top / 2.0, top, (number, 1)) if top else np.zeros((number, 1))
    return np.concatenate([nearest, nearest - generator.uniform(*depth, (number, 2))], axis=-1)


def _drawn(generator: np.random.Generator, quantity: str, of: Result, precision: Precision) -> Rows:
    """Return rows in which rounding `quantity` is likely to show: large logits, deep keys, or values that cancel."""
    number = _DRAWN.get(quantity, _DRAWN_OF_LOGITS)
    depth, top = {
        "exponentials": ((0.0, 3.0), 0.0),
        "sums": ((0.0, 5.0), 0.0),
        "sums of unnormalised weights": ((0.0, 5.0), 0.0),
        "differences": ((8.0, 14.0) if of == "gradients" else (4.0, 8.0), 9.0),
    }.get(quantity, ((0.0, 1.0), 90.0))
    query = stored(generator.uniform(2.0, 4.0, (number, 2)), precision) * generator.choice((-1.0, 1.0), (number, 2))
    scale = SCALE
    if of == "softmax":
        scale, query = 1.0, np.ones((number, 2))
    logits = _logits_apart(generator, number, depth, top)
    key = stored(logits / (scale * query[:, [0, 1, 1]]), precision)
    count = np.concatenate([np.ones((number, 1)), generator.integers(1, 6, (number, 2))], axis=-1)
    value = generator.uniform(1.0, 2.0, (number, 3)) * np.array([0.0, 1.0, 1.0])
    if quantity == "exponentials":
        # Averages near zero, whose own rounding is none.
        share = count * np.exp(logits)
        value[:, 2] = -value[:, 1] * share[:, 1] / share[:, 2]
    return Rows(scale, query, key, stored(value, precision), count)


def _excess(rows: Rows, quantity: str, of: Result, precision: Precision) -> Array:
    """Return by how much of the fused bound a result is wrong, with its sign, where `quantity` is rounded."""
    weights = np.exp(rows.logits - rows.logits.max(axis=-1, keepdims=True))
    weights = weights / rows.together(weights)
    wrong = _Eager(precision, quantity).result(rows, of)
    # Of what float32 errs by, more than enough.
    unit, small = precision.stored, 100.0 * precision.accumulation
    if of == "output":
        output = rows.together(weights * rows.value)
        apart = rows.together(weights * np.abs(rows.value - output)) / (1.0 - unit)
        average = np.maximum(apart, rows.together(weights * np.abs(rows.value)))
        bound = (unit + small) * (average + np.abs(output)) + 64.0 * precision.underflow
        return np.asarray(((wrong - output) / (bound * (1.0 + unit)))[:, 0])
    times, absolute = (5.0, 4.0 * precision.tiny) if of == "gradients" else (1.0, 2.0 * precision.underflow)
    bound = (times * (1.0 + unit) * unit + small) * weights + absolute
    excess = (wrong - weights) / bound
    return np.asarray(np.take_along_axis(excess, np.abs(excess).argmax(axis=-1)[:, None], axis=-1)[:, 0])


def _kept(rows: Rows, excess: Array) -> Rows:
    """Return the rows that show most, of both signs."""
    order = np.argsort(excess)
    ends = np.concatenate([order[:_OF_EACH], order[-_OF_EACH:]])
    return rows.taken(ends[np.abs(excess[ends]) > _BEYOND])


LOGITS = ("logits", "products", "scaled queries", "halves of the scale")
QUANTITIES: Mapping[Result, tuple[str, ...]] = {
    "output": (*LOGITS, "differences", "exponentials", "sums", "sums of unnormalised weights"),
    "weights": (*LOGITS, "differences", "exponentials", "sums"),
    "softmax": ("differences", "exponentials", "sums"),
    "gradients": (*LOGITS, "differences"),
}


@cache
def telling_rows(dtype: str, of: Result, seed: int = 7) -> Mapping[str, Rows]:
    """Return the rows that tell, by the quantity whose rounding they show; none where it never shows.

    In float16 the bound of gradients allows so much for underflow that rounded differences of logits stay within it.
    """
    precision = Precision.of(dtype)
    found: dict[str, Rows] = {}
    for number, quantity in enumerate(QUANTITIES[of]):
        generator = np.random.default_rng([seed, number])
        rows = _drawn(generator, quantity, of, precision)
        found[quantity] = _kept(rows, _excess(rows, quantity, of, precision))
    return found
