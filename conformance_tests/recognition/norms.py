"""Layer norm and RMS norm, recognised by their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import DOUBLE, agree

_USUAL_EPS = (1e-5, 1e-6, 1e-12, 1e-8, 1e-7, 1e-3, 1e-4, 1e-2, 0.0, 2.0**-23, 2.0**-52)

# The squares of vectors that were normalised before differ by less.
_LEAST_SPREAD = 1e-3
# What a norm makes of the rounding of a vector that is one number is smaller, whatever its eps.
_NOTHING = 1e-6


@dataclass(frozen=True)
class FoundNorm:
    """A norm with what the values say of it; `gain` and `shift` are places among the candidates, None for none.

    `width` is the number of entries that it is over.
    """

    kind: str
    eps: float | None
    placement: str
    gain: int | None
    shift: int | None
    width: int = field(default=0, compare=False)


def norm_of(x: Array, y: Array, vectors: Sequence[Array], unit: float) -> FoundNorm | None:
    """Return the norm that gives `y` from `x`, with gain and shift among `vectors`; None where none does.

    y = (x − mean x)/√(var x + eps)·gain + shift, or x/√(mean x² + eps)·gain. `x` and `y` are (rows, width).
    """
    if x.shape != y.shape or x.shape[-1] < 2 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    for gain, shift in _choices(vectors):
        with np.errstate(all="ignore"):
            unscaled = (y - (0.0 if shift is None else vectors[shift])) / (1.0 if gain is None else vectors[gain])
        if not np.isfinite(unscaled).all():
            continue
        factor = np.ones(x.shape[-1]) if gain is None else vectors[gain]
        for kind in ("layer_norm", "rms_norm"):
            found = _with_eps(kind, x, unscaled, factor, unit)
            if found is not None:
                return FoundNorm(kind, *found, gain, shift, x.shape[-1])
    return None


def _choices(vectors: Sequence[Array]) -> Iterator[tuple[int | None, int | None]]:
    every = range(len(vectors))
    yield from ((gain, shift) for gain in every for shift in every if gain != shift)
    yield from ((gain, None) for gain in every)
    yield from ((None, shift) for shift in every)
    yield None, None


def _with_eps(kind: str, x: Array, unscaled: Array, gain: Array, unit: float) -> tuple[float | None, str] | None:
    """Return eps and its place; None where the vectors are not normalised so.

    They are compared with their gain, since dividing by one near 0 makes rounding large.
    """
    centred = x - x.mean(axis=-1, keepdims=True) if kind == "layer_norm" else x
    square = (centred**2).mean(axis=-1)
    size = np.sqrt((unscaled**2).mean(axis=-1))
    # A vector of one number, as of zeros that were put in, has no size to be told from rounding.
    told = square > (16.0 * unit) ** 2 * np.max(square)
    if not told.any() or not (size[told] > 0).all() or (size[~told] > _NOTHING).any():
        return None
    centred, unscaled, square = centred[told], unscaled[told], square[told]
    divisor = _divisors(centred * gain, unscaled * gain)
    # One number for each vector must explain it all.
    if divisor is None or not agree(unscaled * gain, centred / divisor[:, None] * gain, unit):
        return None
    inside, outside = divisor**2 - square, divisor - np.sqrt(square)
    blur = 64.0 * unit * float(np.max(square))
    for estimates, placement in ((inside, "inside_root"), (outside, "outside_root")):
        # Of vectors of one size any factor is some eps, so that only those that models have are believed.
        telling = _differ(square) and not _is_a_factor(square, divisor, blur)
        middle = (float(np.median(estimates)),) if telling else ()
        for eps in (*_USUAL_EPS, *middle):
            if eps >= 0 and np.all(np.abs(estimates - eps) <= 1e-6 * abs(eps) + blur):
                # Where no eps at all fits as well, these vectors do not tell.
                hidden = (eps <= 4 * blur and unit > DOUBLE) or (eps > 0 and np.all(np.abs(estimates) <= blur))
                return (None if hidden else eps), placement
    return None


def _divisors(before: Array, after: Array) -> Array | None:
    """Return the positive number by which each vector is divided, by least squares; None where there is none."""
    with np.errstate(all="ignore"):
        found = (before**2).sum(axis=-1) / (before * after).sum(axis=-1)
    return np.asarray(found) if np.isfinite(found).all() and (found > 0).all() else None


def _is_a_factor(square: Array, divisor: Array, blur: float) -> bool:
    """Return whether a factor explains the divisors as well as an eps does, up to rounding."""
    factor = float(np.median(divisor**2 / square))
    return bool(np.all(np.abs(divisor**2 - factor * square) <= blur))


def _differ(square: Array) -> bool:
    """Return whether vectors are of so different sizes that an eps differs from a factor."""
    return square.size > 1 and float(np.ptp(square)) > _LEAST_SPREAD * float(np.max(square))
