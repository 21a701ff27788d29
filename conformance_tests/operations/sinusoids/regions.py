"""Regions of sinusoidal positions."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among

REGIONS = among(
    ("sinusoidal_positions",),
    ("one frequency", "Two components.", lambda c: c.d_model == 2),
    ("several frequencies", "More than two components.", lambda c: c.d_model > 2),
    ("many frequencies", "More than 32 components.", lambda c: c.d_model > 32),
    ("one position", "The first position alone.", lambda c: c.length == 1),
    ("many positions", "More than 20.", lambda c: c.length > 20),
)
