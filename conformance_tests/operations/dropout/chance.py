"""How many of many entries chance drops: bounds that accuse a correct mask in one of 10¹² calls at most."""

from __future__ import annotations

import math

import numpy as np
from veriformer.conformance_tests.core.verdict import Verdict, words
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

FALSE_ALARM = 1e-12
# Kernels compare bytes: the number of thresholds that they distinguish is 256.
_OF_BYTES = 2.0**-8


def resolution(dtype: str) -> float:
    """Return by how much the probability of a correct mask may differ from p: max(2⁻⁸, 3u).

    Attention kernels compare a random byte with p · 255, rounded down, which is off by 2⁻⁸ at most (Dao-AILab's
    flash-attention). A random number of the dtype itself is a multiple of 2u in [0, 1), so that the share of those
    below p is off by 2u at most, and p is rounded to the dtype, which is u.
    """
    return max(_OF_BYTES, 3.0 * UNIT_ROUNDOFF[dtype])


def agreement(rate: float, resolution: float) -> tuple[float, float]:
    """Return the probability a = 1 − 2p(1 − p) that two independent entries of masks agree, and by how much it may be
    off where p is off by δ: a(p + δ) − a(p) = 2δ (2p − 1) + 2δ².
    """
    return 1.0 - 2.0 * rate * (1.0 - rate), 2.0 * resolution * abs(1.0 - 2.0 * rate) + 2.0 * resolution**2


def likely(number: int, probability: float, slack: float, alarm: float = FALSE_ALARM) -> tuple[int, int]:
    """Return the least and the largest number of successes that chance explains.

    P(Z ≥ k) ≤ exp(−n D(k/n ‖ q)),   D(a ‖ q) = a ln(a/q) + (1 − a) ln((1 − a)/(1 − q)),   k ≥ n q

    for the sum Z of n independent trials of probability q (Hoeffding 1963, theorem 1), and likewise downwards. q is off
    by `slack` at most. Numbers beyond either end are left with half the probability `alarm` each.
    """
    most = _most(number, probability + slack, alarm)
    return number - _most(number, 1.0 - probability + slack, alarm), most


def by_chance(count: int, number: int, within: tuple[int, int], what: str) -> Verdict:
    """Return the verdict on a number of successes: chance explains those from the first of `within` to the second."""
    least, most = within
    return words(f"{least} to {most} of {number} {what}", f"{count} of {number}", holds=least <= count <= most)


def _most(number: int, probability: float, alarm: float) -> int:
    if number == 0 or probability >= 1.0:
        return number
    shares = np.arange(number + 1) / number
    with np.errstate(divide="ignore", invalid="ignore"):
        upwards = np.where(shares > 0.0, shares * np.log(shares / probability), 0.0)
        downwards = np.where(shares < 1.0, (1.0 - shares) * np.log((1.0 - shares) / (1.0 - probability)), 0.0)
    explained = (shares <= probability) | (number * (upwards + downwards) < math.log(2.0 / alarm))
    return int(np.flatnonzero(explained).max())
