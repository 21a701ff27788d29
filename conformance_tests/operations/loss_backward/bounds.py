"""Rounding error of the backward pass of cross entropy.

dz_k = w (p_k − y_k). The factor w of a row is dO / n, dO, or its own dO: n, its reciprocal and a product, 3u.

    p_k    e^(± η_k) times the exact one. η_k is what ln p_k errs by, whichever way it is computed, as in the loss:
           ln S, of S = Σ e^(−d) and d = max z − z:  −ln(1 − t), t = Σ p (e^(u d + 2u) − 1) + γ(N) + u + tiny N,
           for the exponentials, their sum and its rounding, + 2u ln S where its logarithm is kept
           lse:   u |lse|, where it is kept and z − lse is exponentiated, as in the derivative of torch's logsumexp
           ln p_k = −ℓ_k:   u d_k + 2u ℓ_k, the differences, and the rounding of ln p_k where that is kept
           p_k:   3u, the exponential, or the quotient e^(−d_k)/S
    y_k    10u Y_k, Y = one-hot(t) + ε/N: ε, 1 − ε, the product with w, the division by N and the sum of both parts,
           3u of w, and where p is differentiated instead of ln p, y_k/p_k, the product with p_k and the difference
           p_k (dp_k − Σ p dp). Y and not y, because the rounding of ε is as large in 1 − ε.
    w p_k  where the loss is a sum Σ y ln p, p_k is multiplied by G = w Σ y: (γ(N) + 12u)(1 + ε), that of the terms, of
           their sum, of G p_k, and of the difference. γ(N) is nothing without smoothing: adding zeros is exact.

|δ dz_k| ≤ |w| (p_k (e^(η_k + c) − 1) + Y_k (e^(10u) − 1) + tiny terms), c the last line: products of (1 + u) are no
more than exponentials, so that nothing of second order is left out. Then the difference and the result are rounded.

Code that subtracts max z without stopping its gradient sends −Σ_k of a row's gradients, 0 but for rounding, to the
class of the largest logit; code that goes through the classes in blocks does so in each (see `softmax_backward_bound`).
Weights e^(−d)/S sum to 1 but for γ(N) + 3u (sum, quotient, product) however wrong they are; their multiples by G and
the y, 2u each, and the sum itself, γ(N) + u. So each class leaves at most (2 γ(N) + 8u)(1 + ε) |w| (p_k e^(η_k + c) +
Y_k) to one whose logit is not smaller.

Derivation: cross_entropy, of the formula.
"""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.softmax.bounds import log_normaliser
from veriformer.conformance_tests.operations.softmax_backward.bounds import Ranks
from veriformer.conformance_tests.rounding.precision import Precision

# Beyond any error that a bound is compared with.
_LARGEST_EXPONENT = 200.0


def loss_backward_bound(logits: Array, wanted: Array, factor: Array, smoothing: float, precision: Precision) -> Array:
    """Return the largest rounding error of w (softmax(z) − y) for rows (n, N) of logits.

    `wanted` is Y (n, N), and `factor` w (n, 1).
    """
    unit, classes = precision.stored, logits.shape[-1]
    weights = np.exp(logits - log_normaliser(logits))
    averaging = precision.growth(classes) if smoothing else 0.0
    exponent = logarithm_error(logits, precision) + (averaging + 12.0 * unit) * (1.0 + smoothing)
    size = np.abs(factor)
    own = weights * np.expm1(exponent) + wanted * np.expm1(10.0 * unit)
    error = size * (own + 2.0 * precision.tiny) + 4.0 * precision.tiny
    terms = weights * np.exp(exponent) + wanted
    left = (2.0 * precision.growth(classes) + 8.0 * unit) * (1.0 + smoothing) * size * terms
    left += (1.0 + size) * precision.tiny
    error += Ranks(logits, np.zeros_like(logits)).sum_not_above(left)
    rounded = (unit + precision.output) * (size * terms + error)
    return np.where(size > 0, np.asarray(error + rounded), 0.0)


def logarithm_error(logits: Array, precision: Precision) -> Array:
    """Return η, the error of the logarithms of a softmax, and of their exponentials."""
    unit, classes = precision.stored, logits.shape[-1]
    distance = logits.max(axis=-1, keepdims=True) - logits
    normaliser = log_normaliser(logits)
    surprise = normaliser - logits
    far = np.minimum(unit * distance + 2.0 * unit, _LARGEST_EXPONENT)
    sum_error = np.sum(np.exp(-surprise) * np.expm1(far), axis=-1, keepdims=True)
    sum_error = sum_error + precision.growth(classes) + unit + precision.tiny * classes
    logarithm = -np.log1p(-np.minimum(sum_error, 0.5))
    logarithm = logarithm + 2.0 * unit * np.log(np.sum(np.exp(-distance), axis=-1, keepdims=True))
    kept = unit * (np.abs(normaliser) + distance + 2.0 * surprise + 3.0)
    return np.asarray(np.minimum(logarithm + kept, _LARGEST_EXPONENT))
