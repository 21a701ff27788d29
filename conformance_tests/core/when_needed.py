"""Exact results whose error bounds are computed when they are needed.

A bound takes many times as long as the result itself, and a result that is the exact one, stored, needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from veriformer.adapters.results import join
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF, Precision


def stored_error(value: Array, dtype: str) -> Array:
    """Return the error that storing an exact result x allows in any case: u |x|, and 0 where the dtype holds x."""
    return np.where(round_to_dtype(value, dtype) == value, 0.0, UNIT_ROUNDOFF[dtype] * np.abs(value))


def bounded(
    value: Array,
    bound: Callable[[], Array],
    precision: Precision,
    dtype: str,
    judged: Array | None = None,
    *,
    floors: tuple[Callable[[], Array], ...] = (),
) -> Expected:
    """Return an expected result of `dtype`, all of which is judged unless said; the reference, too, rounds.

    `floors` are cheaper parts of the bound, as those of `Expected`.
    """
    every = np.ones(value.shape, dtype=bool) if judged is None else judged
    rounding = (lambda: stored_error(value, dtype), *floors)
    return Expected(value, lambda: bound() * precision.with_reference, every, rounding)


def bounded_parts(
    values: Sequence[Array],
    bounds: Callable[[], Sequence[Array]],
    precision: Precision,
    dtype: str,
    judged: Sequence[Array] | None = None,
) -> Expected:
    """Return an expected result of several arrays, one after the other; `bounds` returns the bound of each."""
    every = None if judged is None else join(judged)
    return bounded(join(values), lambda: join(bounds()), precision, dtype, every)
