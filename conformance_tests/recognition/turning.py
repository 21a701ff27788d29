"""Rotary embedding, read off what it turned: pairs, angles, base and positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

Pairing = Literal["interleaved", "half"]
# Tables of sines are mostly made in float32, also where the model computes in float64.
_CLOSE = 2e-5
# Two numbers of each position are fitted to so many samples and heads at least.
_LEAST_SAMPLES = 3
# Numbers that were handed on differ by less, those that were turned by the least of angles by more.
_EXACT = 1e-9
_PAIR = ("cosine", "sine")
# Angles are computed in float32 at best, and frequencies differ by less than this part from their formula.
_LEAST_BLUR = 1e-7
_SAME_FREQUENCY = 1e-3
# Of the second of two pairs, the base of which would be 10¹⁸.
_LEAST_FREQUENCY = 1e-9


@dataclass(frozen=True, eq=False)
class Turned:
    """A rotation of heads by their positions.

    Pair i at position p is turned by `direction` · p · frequencies[i]. `base` is None where the frequencies are no
    geometric sequence from 1, as those stretched for long inputs are not. `start` is the position of the first row.
    `moved` says that the components that are turned stand behind the others afterwards, though they were the first.
    `after` is the pairing that the components have afterwards: some models put neighbours half a width apart.
    """

    pairing: Pairing
    width: int
    at_end: bool
    base: float | None
    frequencies: Array
    start: float
    direction: int
    factor: float
    moved: bool = False
    after: Pairing | None = None

    @property
    def pairing_after(self) -> Pairing:
        """The pairs in which the turned components stand."""
        return self.after or self.pairing


def turned(before: Array, after: Array) -> Turned | None:
    """Return the rotation that gives `after` from `before`, both (B, H, L, D), up to a factor; None if none does."""
    if before.shape != after.shape or before.shape[2] < 2 or before.shape[3] < 2:
        return None
    size = float(np.sqrt((after**2).sum() / max(float((before**2).sum()), 1e-300)))
    if not np.isfinite(size) or size == 0.0:
        return None
    size = 1.0 if abs(size - 1.0) < _CLOSE else size
    ways = list(_ways(before, after / size))
    as_it_is = []
    for pairing, width, at_end in ways:
        found = _read(before, after / size, (pairing, pairing), width, at_end)
        if found is not None:
            as_it_is.append(Turned(pairing, width, at_end, *found, size))
            if found[0] is not None:
                return as_it_is[-1]
    if as_it_is:
        # What is not turned at all passes for turned by no angle: without a base, the fewest components count.
        return min(as_it_is, key=lambda one: one.width)
    for pairing, width, at_end in ways:
        other: Pairing = "half" if pairing == "interleaved" else "interleaved"
        found = _read(before, after / size, (pairing, other), width, at_end) if width > len(_PAIR) else None
        if found is not None:
            return Turned(pairing, width, at_end, *found, size, after=other)
    rest = _rest_in_front(before, after)
    if rest:
        back = turned(before, np.concatenate([after[..., rest:], after[..., :rest]], axis=-1))
        return None if back is None else replace(back, moved=True)
    return None


def _rest_in_front(before: Array, after: Array) -> int:
    """Return how many components that were the last, and are not turned, are the first now; 0 for none."""
    total = before.shape[-1]
    widths = range(2, total, 2)
    return next((total - one for one in widths if np.array_equal(after[..., : total - one], before[..., one:])), 0)


def changed_width(before: Array, after: Array) -> int:
    """Return the number of leading components in which two arrays differ, made even."""
    scale = float(np.abs(before).max())
    changed = np.flatnonzero(~(np.abs(after - before) <= _CLOSE * scale).all(axis=(0, 1, 2)))
    whole = int(before.shape[-1])
    return min(_even(int(changed[-1]) + 1), whole) if changed.size else whole


def mixes_pairs(before: Array, after: Array) -> bool:
    """Return whether each position mixes pairs of components by a matrix of its own.

    What multiplies all components of a position by one number, as a temperature of its query, mixes none.
    """
    return any(
        not np.allclose(matrices, matrices[:1]) and not _only_scale(matrices) for matrices in _mixing(before, after)
    )


def _only_scale(matrices: Array) -> bool:
    """Return whether each position has a multiple of the unit matrix for its pairs."""
    factors = matrices[..., :1, :1]
    return bool(np.allclose(matrices, factors * np.eye(2), atol=_CLOSE * float(np.abs(matrices).max())))


def turns_pairs(before: Array, after: Array) -> bool:
    """Return whether each position turns pairs of components by angles of its own, whatever these are.

    Angles of two coordinates, as of patches in an image, are no multiples of one position.
    """
    unit = np.eye(2)
    return any(
        np.abs(matrices @ matrices.swapaxes(-1, -2) - unit).max() <= 50 * _CLOSE and (np.linalg.det(matrices) > 0).all()
        for matrices in _mixing(before, after)
    )


def _mixing(before: Array, after: Array) -> Iterator[Array]:
    """Yield the matrices (L, pairs, 2, 2) that give pairs of components at each position, for each pairing."""
    if before.shape == after.shape:
        width = changed_width(before, after)
        before, after = before[..., :width], after[..., :width]
    if before.shape != after.shape or before.shape[0] * before.shape[1] < _LEAST_SAMPLES or before.shape[-1] % 2:
        return
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        return
    half = before.shape[-1] // 2
    for first, second in ((slice(0, half), slice(half, None)), (slice(0, None, 2), slice(1, None, 2))):
        given = np.stack([before[..., first], before[..., second]], axis=-1)
        made = np.stack([after[..., first], after[..., second]], axis=-1)
        # One small system for each position and pair, over all samples and heads.
        x = np.moveaxis(given.reshape(-1, *given.shape[2:]), 0, -2)
        y = np.moveaxis(made.reshape(-1, *made.shape[2:]), 0, -2)
        matrices = np.linalg.pinv(x) @ y
        if np.abs(x @ matrices - y).max() <= _CLOSE * float(np.abs(y).max()):
            yield matrices


def partners(before: Array, after: Array) -> tuple[int, ...] | None:
    """Return the component that each one is mixed with, by the cosine and the sine of an angle of each position.

    y[i] = cos θ · x[i] ± sin θ · x[partner of i]. None where the components are made in another way, or there are too
    few samples and heads to tell.
    """
    if before.shape != after.shape or before.shape[0] * before.shape[1] < _LEAST_SAMPLES:
        return None
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        return None
    if before.shape[2] < 2:
        # The first position is not turned, so that it tells nothing.
        return None
    width = changed_width(before, after)
    x = np.moveaxis(before[..., :width], 2, 0).reshape(before.shape[2], -1, width)[1:]
    y = np.moveaxis(after[..., :width], 2, 0).reshape(before.shape[2], -1, width)[1:]
    found = tuple(_partner(x, y[..., one], one) for one in range(width))
    return None if -1 in found else found


def _partner(x: Array, y: Array, own: int) -> int:
    for other in range(x.shape[-1]):
        if other == own:
            continue
        pair = x[..., [own, other]]
        factors = np.linalg.pinv(pair) @ y[..., None]
        rest = np.abs(pair @ factors - y[..., None]).max()
        on_circle = np.abs((factors**2).sum(axis=-2) - 1.0).max()
        if rest <= _CLOSE * float(np.abs(x).max()) and on_circle <= 50 * _CLOSE:
            return other
    return -1


def _ways(before: Array, after: Array) -> Iterator[tuple[Pairing, int, bool]]:
    total = int(before.shape[-1])
    difference = np.abs(after - before).max(axis=(0, 1, 2)) / float(np.abs(before).max())
    same = difference <= _CLOSE
    if same.all():
        return
    # The last pairs of a large base turn so little that it looks like none; what is not turned is exactly the same.
    widths = [_even(int(np.flatnonzero(difference > limit)[-1]) + 1) for limit in (_EXACT, _CLOSE)]
    changed = np.flatnonzero(~same)
    for width in dict.fromkeys((*widths, total)):
        yield "half", width, False
        yield "interleaved", width, False
    if same[0]:
        width = _even(total - int(changed[0]))
        yield "half", width, True
        yield "interleaved", width, True


def _even(width: int) -> int:
    return width + width % 2


def _read(
    before: Array, after: Array, pairings: tuple[Pairing, Pairing], width: int, at_end: bool
) -> tuple[float | None, Array, float, int] | None:
    first, second = (
        _pairs(array, pairing, width, at_end) for array, pairing in zip((before, after), pairings, strict=True)
    )
    if first is None or second is None:
        return None
    length = np.abs(first)
    if np.abs(np.abs(second) - length).max() > _CLOSE * max(float(length.max()), 1e-300):
        return None
    # Weighted by the lengths, so that short pairs, whose angle is blurred, count little.
    angles = np.angle((second * first.conj()).sum(axis=(0, 1)))
    back = first * np.exp(1j * angles)
    if np.abs(back - second).max() > _CLOSE * float(length.max()):
        return None
    steps = np.angle(np.exp(1j * (angles[1] - angles[0])))
    direction = 1 if steps[int(np.argmax(np.abs(steps)))] > 0 else -1
    frequencies = direction * steps
    start = float(direction * angles[0, 0] / frequencies[0]) if frequencies[0] else 0.0
    positions = start + np.arange(angles.shape[0])
    expected = np.exp(1j * direction * positions[:, None] * frequencies)
    if np.abs(expected - np.exp(1j * angles)).max() > 50 * _CLOSE:
        return None
    frequencies, blur = _sharpened(frequencies, angles, start, direction)
    return _base(frequencies, width, blur), frequencies, round(start, 4), direction


def _pairs(array: Array, pairing: Pairing, width: int, at_end: bool) -> Array | None:
    part = array[..., -width:] if at_end else array[..., :width]
    rest = array[..., :-width] if at_end else array[..., width:]
    if width % 2 or width > array.shape[-1] or (rest.size and width == array.shape[-1]):
        return None
    if pairing == "half":
        return np.asarray(part[..., : width // 2] + 1j * part[..., width // 2 :])
    return np.asarray(part[..., 0::2] + 1j * part[..., 1::2])


def _sharpened(frequencies: Array, angles: Array, start: float, direction: int) -> tuple[Array, Array]:
    """Return the frequencies as the last position tells them, and by how much each may be wrong.

    The last angle is the largest, and so the one that is blurred least for its size; how far the others lie from
    what it says is the blur.
    """
    last = start + angles.shape[0] - 1
    if last <= 0:
        return frequencies, np.full(frequencies.shape, _CLOSE)
    rest = np.angle(np.exp(1j * (direction * angles[-1] - last * frequencies)))
    sharp = frequencies + rest / last
    positions = start + np.arange(angles.shape[0])
    turned = np.abs(np.exp(1j * direction * positions[:, None] * sharp) - np.exp(1j * angles)).max(axis=0)
    return sharp, (turned + _LEAST_BLUR) / last


def _base(frequencies: Array, width: int, blur: Array) -> float | None:
    """Return b where frequency i is b^(−2i/width); None where there is no such number."""
    if abs(frequencies[0] - 1.0) > _CLOSE:
        return None
    if len(frequencies) == 1:
        return None
    exponents = 2.0 * np.arange(len(frequencies)) / width
    if frequencies[1] < _LEAST_FREQUENCY:
        # What is not turned at all is no pair of an endless base.
        return None
    base = float(frequencies[1] ** (-1.0 / exponents[1]))
    for rounded in (float(f"{base:.2g}"), float(f"{base:.3g}"), base):
        expected = rounded**-exponents
        if np.all(np.abs(expected - frequencies) <= 10 * blur + _SAME_FREQUENCY * expected):
            return rounded
    return None
