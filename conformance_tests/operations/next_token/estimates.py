"""The loss of next tokens and its gradient as estimates: of logits that are wrong by something themselves.

Logits wrong by δ move ℓ = lse(z) − z_t by no more than max |δ| + |δ_t|, and p_k by the factor e^(|δ_k| + max |δ|) at
most. To this the rounding errors of the loss and of its gradient at exact logits are added, which is right to first
order in the unit roundoff.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.loss.bounds import mean_bound, surprise_bound
from veriformer.conformance_tests.operations.loss_backward.bounds import loss_backward_bound
from veriformer.conformance_tests.operations.softmax.bounds import log_normaliser
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class Judged:
    """The logits that are judged, with their errors, (n, N), by the next tokens (n,); `kept` (B, L − 1) says where."""

    logits: Array
    errors: Array
    targets: Array
    kept: Array

    @classmethod
    def of(cls, logits: Estimate, tokens: Array, ignore_index: int | None) -> Judged:
        """Return those of all next tokens but the ignored ones."""
        following = tokens[:, 1:]
        kept = np.ones(following.shape, dtype=bool) if ignore_index is None else following != ignore_index
        return cls(logits.value[:, :-1][kept], logits.error[:, :-1][kept], following[kept], kept)

    @property
    def surprise(self) -> Array:
        """ℓ of each."""
        rows = np.arange(len(self.targets))
        return np.asarray(log_normaliser(self.logits)[:, 0] - self.logits[rows, self.targets])


def next_token_loss_estimate(judged: Judged, precision: Precision) -> Estimate:
    """Return the mean over what is judged."""
    rows = np.arange(len(judged.targets))
    wrong = surprise_bound(judged.logits, judged.targets, 0.0, precision)
    wrong = wrong + judged.errors.max(axis=-1) + judged.errors[rows, judged.targets]
    mean = float(judged.surprise.mean())
    return Estimate(np.asarray(mean), np.asarray(mean_bound(wrong, mean, precision)))


def next_token_back(judged: Judged, count: int, precision: Precision) -> Estimate:
    """Return the gradient by the logits (B, L, N) of a sum over what is judged that is divided by a count."""
    classes = judged.logits.shape[-1]
    wanted = (np.arange(classes) == judged.targets[:, None]).astype(float)
    factor = np.full((len(wanted), 1), 1.0 / count)
    share = np.exp(judged.logits - log_normaliser(judged.logits))
    moved = factor * share * np.expm1(judged.errors + judged.errors.max(axis=-1, keepdims=True))
    error = loss_backward_bound(judged.logits, wanted, factor, 0.0, precision) + moved
    batch, following = judged.kept.shape
    value, bound = (np.zeros((batch, following + 1, classes)) for _ in range(2))
    value[:, :-1][judged.kept] = factor * (share - wanted)
    bound[:, :-1][judged.kept] = error
    return Estimate(value, bound)
