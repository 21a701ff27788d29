"""What chance allows of initial weights: bounds that accuse correct ones in one of 10¹² calls at most.

An entry w has the mean 0 and the variance σ². Two things are used of its distribution: E exp(t w) ≤ exp(t² σ²/2) for
all t (strictly sub-Gaussian), and E w⁴ ≤ 3 σ⁴. They hold for normal numbers, for uniform ones, and for normal ones that
are cut off symmetrically (Arbel, Marchal & Nguyen 2020, On strict sub-Gaussianity, optimal proxy variance and symmetry
for bounded random variables, section 3; Barreto, Marchal & Arbel 2024, Optimal sub-Gaussian variance proxy for
truncated Gaussian and exponential random variables, section 2).

Weights may be stored in bfloat16, the coarsest dtype, and their deviation too: each is off by 2⁻⁸ of itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from veriformer.conformance_tests.core.verdict import Verdict, words
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

FALSE_ALARM = 1e-12
_UNIT = UNIT_ROUNDOFF["bfloat16"]
# An entry is off by this share of itself, its square by two of it.
ROUNDED = (1.0 + _UNIT) ** 2 - 1.0


@dataclass(frozen=True)
class Interval:
    """From the least to the largest value that chance explains."""

    least: float
    most: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, float) and self.least <= value <= self.most

    def times(self, factor: float) -> Interval:
        """Return the interval of a value that is so many times as large."""
        return Interval(self.least * factor, self.most * factor)

    def also(self, other: Interval) -> Interval:
        """Return the interval of a product, by those of its factors, which are not negative."""
        return Interval(self.least * other.least, self.most * other.most)

    @property
    def with_rounding(self) -> Interval:
        """The interval of a sum of squares of entries that are rounded, and of their deviation."""
        return Interval(self.least * (1.0 - ROUNDED) ** 2, self.most * (1.0 + ROUNDED) ** 2)

    def holds(self, value: float, what: str) -> Verdict:
        """Return the verdict on a value."""
        return words(f"{what} from {self.least:.4g} to {self.most:.4g}", f"{value:.4g}", holds=value in self)


def sum_of_squares(number: int, alarm: float = FALSE_ALARM) -> Interval:
    """Return what chance explains of Σ w²/σ² of n entries, each end with half the probability `alarm`.

    P(Σ w²/σ² ≥ n + 2√(n t) + 2t) ≤ exp(−t)      (Laurent & Massart 2000, lemma 1: E exp(s w²) is at most that of a
                                                  normal w, since exp(s w²) is a mean of exp(√(2s) g w), g normal)
    P(Σ w²/σ² ≤ n − √(6 n t)) ≤ exp(−t)          (Maurer 2003, theorem 1, of terms ≥ 0 with E w⁴ ≤ 3 σ⁴)
    """
    half = log(2.0 / alarm)
    return Interval(max(number - sqrt(6.0 * number * half), 0.0), number + 2.0 * sqrt(number * half) + 2.0 * half)


def mean_square(number: int, alarm: float = FALSE_ALARM) -> Interval:
    """Return the same of the mean square of n entries, in units of σ², rounding included."""
    return sum_of_squares(number, alarm).times(1.0 / number).with_rounding


@dataclass(frozen=True)
class Form:
    """A sum of `rows` independent quadratic forms wᵀ M w, with w of entries of variance σ², M by its eigenvalues."""

    rows: int
    eigenvalues: Array
    variance: float

    @classmethod
    def of(cls, given: Array, rows: int, variance: float) -> Form:
        """Return the form of ‖A w‖² with a matrix A that is given."""
        products = given.T @ given if given.shape[0] > given.shape[1] else given @ given.T
        return cls(rows, np.maximum(np.linalg.eigvalsh(products), 0.0), variance)

    @property
    def expected(self) -> float:
        """The mean of the sum: rows σ² tr M."""
        return float(self.rows * self.variance * self.eigenvalues.sum())


def sum_of_forms(forms: Sequence[Form], alarm: float = FALSE_ALARM) -> Interval:
    """Return what chance explains of a sum of quadratic forms, given their matrices, as a multiple of its mean.

    P(S ≥ E S + 2√(t Σ λ²) + 2 t max λ) ≤ exp(−t)          (Hsu, Kakade & Zhang 2012, theorem 2.1)
    P(S ≤ E S − √(2 t Σ_rows E Y²)) ≤ exp(−t),   E Y² ≤ σ⁴ ((tr M)² + 2 tr M²)           (Maurer 2003, theorem 1)

    with the eigenvalues λ of all σ² M. Where S has the mean 0 nothing is known.
    """
    mean = sum(form.expected for form in forms)
    if mean == 0.0:
        return Interval(0.0, float("inf"))
    half = log(2.0 / alarm)
    squares = sum(form.rows * form.variance**2 * float(np.square(form.eigenvalues).sum()) for form in forms)
    traces = sum(form.rows * form.variance**2 * float(form.eigenvalues.sum()) ** 2 for form in forms)
    largest = max(form.variance * float(form.eigenvalues.max(initial=0.0)) for form in forms)
    most = mean + 2.0 * sqrt(half * squares) + 2.0 * half * largest
    least = max(mean - sqrt(2.0 * half * (traces + 2.0 * squares)), 0.0)
    return Interval(least / mean, most / mean).with_rounding


def largest_mean(number: int, variance: float, alarm: float = FALSE_ALARM) -> float:
    """Return the largest |Σ w/n| that chance explains: P(|Σ w/n| ≥ t) ≤ 2 exp(−n t²/(2σ²)); and rounding."""
    return sqrt(2.0 * variance * log(2.0 / alarm) / number) + 2.0 * ROUNDED * sqrt(variance)


def in_common(rows: Array, variances: Array, alarm: float = FALSE_ALARM) -> Array:
    """Return |⟨a_i, a_j⟩| for each two rows i < j, as a share of what chance explains.

    P(|⟨a_i, a_j⟩| ≥ t) ≤ 2 exp(−t²/(2 σ_j² ‖a_i‖²)), given a_i. All pairs share the probability `alarm`. Rounding moves
    a product by 2 · 2⁻⁸ ‖a_i‖ ‖a_j‖ at most.
    """
    count = len(rows)
    pairs = count * (count - 1) // 2
    if not pairs:
        return np.zeros((count, count))
    lengths = np.linalg.norm(rows, axis=1)
    chance = sqrt(2.0 * log(2.0 * pairs / alarm)) * (1.0 + ROUNDED)
    allowed = chance * np.outer(lengths, np.sqrt(variances)) + ROUNDED * np.outer(lengths, lengths)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.abs(rows @ rows.T) / allowed
    # Of a row of zeros nothing is in common with another.
    return np.triu(np.nan_to_num(shares, nan=0.0), 1)


def nothing_in_common(rows: Array, variances: Array, names: Sequence[str], alarm: float = FALSE_ALARM) -> Verdict:
    """Return the verdict on two rows that have more in common than chance explains, if there are such."""
    shares = in_common(rows, variances, alarm)
    if not (shares > 1.0).any():
        return words("no two with more in common than by chance", "no two", holds=True)
    one, other = np.unravel_index(int(shares.argmax()), shares.shape)
    cosine = float(rows[one] @ rows[other]) / float(np.linalg.norm(rows[one]) * np.linalg.norm(rows[other]))
    expected = f"{names[int(one)]} and {names[int(other)]} with no more in common than by chance"
    return words(expected, f"a cosine of {cosine:.3g} between them", holds=False)


def first_broken(verdicts: Iterable[Verdict], otherwise: str) -> Verdict:
    """Return the first verdict that does not hold, or one in words that all do."""
    return next((verdict for verdict in verdicts if not verdict.holds), words(otherwise, otherwise, holds=True))
