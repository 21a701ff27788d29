"""How far a wrong vector moves its normalisation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array


@dataclass(frozen=True)
class Normalised:
    """A normalisation n = c / r: c is the vector, centred or not; r = √(mean c² + eps), or √mean c² + eps."""

    centred: Array
    divisor: Array
    eps: float
    inside_root: bool

    @classmethod
    def of(cls, centred: Array, eps: float, *, inside_root: bool = True) -> Normalised:
        """Return the normalisation of vectors (..., E)."""
        mean_square = np.mean(centred**2, axis=-1, keepdims=True)
        divisor = np.sqrt(mean_square + eps) if inside_root else np.sqrt(mean_square) + eps
        return cls(centred, divisor, eps, inside_root)

    @property
    def result(self) -> Array:
        """The exact result n."""
        return np.asarray(self.centred / self.divisor)

    @property
    def floor(self) -> float:
        """The least that any vector is divided by."""
        return math.sqrt(self.eps) if self.inside_root else self.eps

    def largest(self, error: Array, *, centring: bool) -> Largest:
        """Return how far the quantities of a vector may move if its entries are wrong by up to `error`."""
        step = _step(error)
        deviation = np.sqrt(np.mean(self.centred**2, axis=-1, keepdims=True)) + step
        divisor = np.maximum(self.divisor - step, self.floor)
        centred = np.abs(self.centred) + _moved(error, centring=centring)
        return Largest(centred, deviation, divisor, self.eps, self.inside_root)


@dataclass(frozen=True)
class Largest:
    """The largest entries and standard deviation, and the least divisor, that an error of the vector allows."""

    centred: Array
    deviation: Array
    divisor: Array
    eps: float
    inside_root: bool

    def root_error(self, relative: float, shift: Array) -> Array:
        """Return the relative error of 1/r where a variance v, which is no less than 0, errs by `relative` v + shift².

        Inside the root v + eps loses the part ρ = relative v/(v + eps) + shift²/(v + eps), and the root's reciprocal
        gains 1/√(1 − ρ) − 1. Outside, √v loses at most (1 − √(1 − relative)) √v + shift. Rounded squares are not
        negative, so that what is left of v + eps is eps/4 at least, and of √v + eps, eps.
        """
        deviation, eps = self.deviation, self.eps
        if self.inside_root:
            variance = deviation**2
            lost = relative * variance / (variance + eps) + (shift / self.divisor) ** 2
            return np.asarray(1.0 / np.sqrt(np.maximum(1.0 - lost, 0.25 * eps / (variance + eps))) - 1.0)
        lost = 1.0 - np.sqrt(1.0 - relative) + shift / self.divisor
        return np.asarray(1.0 / np.maximum(1.0 - lost, eps / (deviation + eps)) - 1.0)


def carried_error(exact: Normalised, error: Array, *, centring: bool) -> Array:
    """Return how far n(x) = c / r moves, entry by entry, when the entries of x move by up to `error`.

    c = P x with P = I − 1 1ᵀ/E (`centring`: layer normalisation) or P = I; r = √(|c|²/E + eps), or |c|/√E + eps with
    eps outside the root. Let e be the error of x, |e| ≤ δ, and d = P e. P is an orthogonal projection, and r is the
    length of (c/√E, √eps), so that

        |d_i| ≤ Σ_j |P_ij| δ_j,   |r′ − r| ≤ |d|/√E ≤ η = √mean δ²,   r′ ≥ ϱ = max(r − η, √eps)

    (the floor is eps where eps is outside the root). Three bounds hold, and the smallest is taken:

        entries and divisor apart   |d_i|/ϱ + |n_i| η/ϱ,  as  c′/r′ − c/r = d/r′ + (c/r)(r − r′)/r′
        what a result can be        |n_i| + √(E − 1), or + √E without centring
        Taylor, eps in the root     Σ_j |J_ij| δ_j + |d_i| η/ϱ² + 2 (|c_i| + |d_i|) η²/ϱ³

    J = (P − n nᵀ/E)/r is the Jacobian. Along x + t e, with q = r², n_i = c_i q^(−1/2) has the second derivative
    −d_i q′ q^(−3/2) − c_i q″ q^(−3/2)/2 + 3 c_i q′² q^(−5/2)/4, where |q′| = 2|⟨c, d⟩|/E ≤ 2 r η and q″ ≤ 2 η²; half of
    it is at most the two last terms. An entry of a centred vector is at most √((E − 1)/E) of its length (the others sum
    to its negative: Cauchy–Schwarz), hence √(E − 1). If r is small compared with η, only that is informative: a norm's
    result stays finite for any error of its argument.
    """
    if not error.any():
        return np.zeros(error.shape)
    width, result = error.shape[-1], exact.result
    moved, step = _moved(error, centring=centring), _step(error)
    least = np.maximum(exact.divisor - step, exact.floor)
    apart = (moved + np.abs(result) * step) / least
    bound = np.minimum(apart, np.abs(result) + math.sqrt(width - 1 if centring else width))
    if not exact.inside_root:
        return np.asarray(bound)
    jacobian = _projection(width, centring=centring) - result[..., :, None] * result[..., None, :] / width
    first = (np.abs(jacobian) @ error[..., None])[..., 0] / exact.divisor
    second = moved * step / least**2 + 2.0 * (np.abs(exact.centred) + moved) * step**2 / least**3
    return np.asarray(np.minimum(bound, first + second))


def _projection(width: int, *, centring: bool) -> Array:
    return np.eye(width) - (1.0 / width if centring else 0.0)


def _moved(error: Array, *, centring: bool) -> Array:
    """Return Σ_j |P_ij| δ_j: by how much each entry, centred or not, may be wrong."""
    return np.asarray(error @ np.abs(_projection(error.shape[-1], centring=centring)))


def _step(error: Array) -> Array:
    """Return √mean δ²: by how much the length over √E may be wrong."""
    return np.asarray(np.sqrt(np.mean(error**2, axis=-1, keepdims=True)))
