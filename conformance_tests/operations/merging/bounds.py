"""Rounding error of merging two parts of an attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.bounds import Disturbed, disturbed
from veriformer.conformance_tests.rounding.precision import Precision

# Beyond any error that a bound is compared with, and far from the largest float64.
_LARGEST_LOGARITHM = 300.0


@dataclass(frozen=True)
class Shares:
    """The shares of two parts that a correct merging computes, from their logarithms and the exact merged one.

    They are a softmax of two logits a and b: differences and exponentials err by ε = u (2 |a − b| + 3), with a factor 2
    because a kernel may go through base 2. `softmax` is the effect of that, `shared` what sums, products and the
    quotient add, relative to each share, 4u, with u |lse| of shares taken as e^(a − lse) from the rounded result.
    `both` says where both parts have keys, and `distance` is |a − b| there.
    """

    softmax: Disturbed
    shared: Array
    both: Array
    distance: Array

    @classmethod
    def of(cls, logarithms: tuple[Array, Array], lse: Array, precision: Precision) -> Shares:
        """Return the shares of two parts, and by how much they may be wrong."""
        unit = precision.stored
        logits = np.stack(logarithms, axis=-1)
        present = np.isfinite(logits)
        both = present.all(axis=-1)
        distance = np.where(both, np.abs(np.subtract(*_finite(logarithms))), 0.0)
        error = np.where(present, (unit * (2.0 * distance + 3.0))[..., None], 0.0)
        shared = 4.0 * unit + np.expm1(np.minimum(unit * finite_part(lse), _LARGEST_LOGARITHM))
        return cls(disturbed(logits, error), shared, both, distance)

    def exact(self, place: int) -> Array:
        """Return the exact share of one part, (B, H, L)."""
        return self.softmax.weights[..., place]

    def error(self, place: int, precision: Precision) -> Array:
        """Return by how much the share of one part may be wrong, (B, H, L)."""
        gain = np.minimum(self.softmax.gain[..., place], 1.0)
        return np.asarray(gain + self.shared * self.exact(place) + 2.0 * precision.tiny)


def merge_bound(
    outputs: tuple[Array, Array], logarithms: tuple[Array, Array], output: Array, lse: Array, precision: Precision
) -> tuple[Array, Array]:
    """Return the largest rounding errors of a correct output and of a correct log-sum-exp, entry by entry.

    Shares are wrong as `Shares` says. As for attention, Σ p (e^ε − 1) |o_part − o| / Σ p e^(−ε) moves the output; to
    what else is relative to p |o_part|, the form o_a − σ(b − a) (o_a − o_b), which ring attention has, adds
    2u (|o_a| + |o_b|) without the shares.

    lse = max + ln(1 + e^(−d)), or a − ln σ(a − b): u |lse| for the last addition, 2u |a − b| + 4u for the logarithm,
    which is at most ln 2 or |a − b| + ln 2.
    """
    unit = precision.stored
    shares = Shares.of(logarithms, lse, precision)
    bound = unit * 2.0 * sum(np.where(shares.both[..., None], np.abs(part), 0.0) for part in outputs)
    for place, part in enumerate(outputs):
        weight, rise = shares.exact(place)[..., None], shares.softmax.rise[..., place, None]
        bound = bound + rise * np.abs(part - output) + shares.shared[..., None] * weight * np.abs(part)
    bound = bound + precision.output * np.abs(output) + 4.0 * precision.tiny
    logarithm = (precision.output + unit) * finite_part(lse)
    logarithm = logarithm + np.where(shares.both, unit * (2.0 * shares.distance + 4.0), 0.0)
    return np.asarray(bound), np.asarray(logarithm + precision.tiny)


def finite_part(lse: Array) -> Array:
    """Return the magnitude of a log-sum-exp, 0 where there are no keys."""
    return np.where(np.isfinite(lse), np.abs(lse), 0.0)


def _finite(logarithms: tuple[Array, Array]) -> tuple[Array, Array]:
    first, second = (np.where(np.isfinite(logarithm), logarithm, 0.0) for logarithm in logarithms)
    return first, second
