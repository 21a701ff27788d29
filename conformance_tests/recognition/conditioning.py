"""What conditions a stream: vectors that each sample has of its own, as a time step or a class gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import SINGLE, agree
from veriformer.conformance_tests.recognition.flow import Flow

# A stream has samples, positions and a width.
_STREAM_AXES = 3
# The first frequency is 1, and the second tells the base.
_LEAST_PAIRS = 3
# The sine of a large angle in float32 is that of an angle that is rounded by more than the result.
_WAVE_UNIT = SINGLE


def condition_in(flow: Flow, moving: Sequence[int], value: int) -> tuple[int, int | None, int | None] | None:
    """Return the part, its factor and its summand, where each sample has a vector of its own for one of these or both.

    value = part · factor + summand, with factors and summands that are the same at all positions of a sample.
    """
    shape = flow.shape(value)
    if len(shape) < _STREAM_AXES or len(moving) not in (2, 3) or flow.array(value).dtype.kind != "f":
        return None
    alike = {one: vectors for one in moving if (vectors := _of_samples(flow.array(one), shape)) is not None}
    whole = [one for one in moving if one not in alike and flow.array(one).size == flow.array(value).size]
    if len(whole) != 1 or len(alike) != len(moving) - 1:
        return None
    part, result = flow.array(whole[0]).reshape(shape), flow.array(value)
    unit = max(flow.unit(one) for one in (*moving, value))
    for factor, summand in _roles(list(alike)):
        expected = part if factor is None else part * alike[factor]
        expected = expected if summand is None else expected + alike[summand]
        if agree(result, expected, unit):
            return whole[0], factor, summand
    return None


def _roles(conditions: Sequence[int]) -> Iterator[tuple[int | None, int | None]]:
    """Yield which condition is the factor and which the summand."""
    if len(conditions) == 1:
        yield conditions[0], None
        yield None, conditions[0]
    else:
        yield from ((first, second) for first, second in permutations(conditions, 2))


def _of_samples(array: Array, shape: tuple[int, ...]) -> Array | None:
    """Return vectors in the shape of a stream, where they are the same at all positions of each sample; else None."""
    if array.dtype.kind != "f" or array.ndim == 0 or array.shape[-1] != shape[-1] or shape[-1] < 2:
        return None
    try:
        whole = np.broadcast_to(array, shape)
    except ValueError:
        return None
    positions = tuple(range(1, len(shape) - 1))
    first = whole[(slice(None), *(slice(0, 1) for _ in positions))]
    several = any(shape[axis] > 1 for axis in positions)
    return whole if several and np.array_equal(whole, np.broadcast_to(first, shape)) else None


def waves_of(numbers: Array, waves: Array) -> tuple[str, float, bool, float] | None:
    """Return layout, base, whether the last frequency is 1 / base, and the factor, of sines and cosines of numbers.

    The frequencies are base^(−i/(n−1)) if the last is exact, else base^(−i/n), for i below n, half of the width.
    """
    width = waves.shape[-1] if waves.ndim else 0
    half = width // 2
    if width % 2 or half < _LEAST_PAIRS or waves.size != numbers.size * width or np.abs(waves).max() > 1.0 + SINGLE:
        return None
    angles_of = numbers.ravel().astype(np.float64)
    rows = waves.reshape(-1, width)
    for layout, (sines, cosines) in _in_layouts(rows):
        if not agree(sines**2 + cosines**2, np.ones_like(sines), SINGLE):
            continue
        for is_last_exact in (False, True):
            for base in (10000.0, 1000.0, 100.0, 1e5):
                for times in (1.0, 1000.0):
                    frequencies = base ** (-np.arange(half) / (half - int(is_last_exact)))
                    angles = times * angles_of[:, None] * frequencies
                    # Angles are rounded before their sines are taken.
                    unit = _WAVE_UNIT * max(1.0, float(np.abs(angles).max()) / 256)
                    if agree(sines, np.sin(angles), unit) and agree(cosines, np.cos(angles), unit):
                        return layout, base, is_last_exact, times
    return None


def _in_layouts(rows: Array) -> Iterator[tuple[str, tuple[Array, Array]]]:
    half = rows.shape[-1] // 2
    yield "sines, then cosines", (rows[:, :half], rows[:, half:])
    yield "cosines, then sines", (rows[:, half:], rows[:, :half])
    yield "sines and cosines in turns", (rows[:, ::2], rows[:, 1::2])
    yield "cosines and sines in turns", (rows[:, 1::2], rows[:, ::2])
