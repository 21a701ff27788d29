"""Rounding errors carried on through rotary positions."""

from __future__ import annotations

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.rotary.bounds import rotary_bound
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import RotaryPairing


def rotated(
    x: Estimate,
    positions: Array,
    precision: Precision,
    *,
    base: float = 10000.0,
    rotary_dim: int | None = None,
    pairing: RotaryPairing = "interleaved",
) -> Estimate:
    """Return heads (B, H, L, D) with rotary positions: see `rotary_bound`. What does not turn keeps its error."""
    value = reference.rotary_embedding(x.value, positions, base=base, rotary_dim=rotary_dim, pairing=pairing)
    turned = x.value.shape[-1] if rotary_dim is None else rotary_dim
    frequencies = reference.rotary_frequencies(turned, base=base)
    angles = np.atleast_2d(positions)[:, None, :, None] * frequencies
    first, second = reference.pair_places(turned, pairing)
    errors = (x.error[..., first], x.error[..., second])
    bound = rotary_bound(x.value[..., first], x.value[..., second], angles, frequencies, precision, errors)
    error = x.error.copy()
    error[..., first] = error[..., second] = bound
    return Estimate(value, error)


def rotated_back(
    gradient: Estimate,
    positions: Array,
    precision: Precision,
    *,
    base: float = 10000.0,
    pairing: RotaryPairing = "interleaved",
) -> Estimate:
    """Return the gradients of heads before they were turned: pairs turn back as mirrored pairs turn forward."""
    mirror = np.ones(gradient.value.shape[-1])
    mirror[reference.pair_places(len(mirror), pairing)[1]] = -1.0
    mirrored = Estimate(mirror * gradient.value, gradient.error)
    turned = rotated(mirrored, positions, precision, base=base, pairing=pairing)
    return Estimate(mirror * turned.value, turned.error)
