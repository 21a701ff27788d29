"""Regions of causal and padding masks."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among

REGIONS = among(
    ("padding_mask",),
    ("several lengths", "Samples of different lengths.", lambda c: len(set(c.lengths)) > 1),
    ("no padding at all", "Every sample is as long as can be.", lambda c: set(c.lengths) == {c.max_length}),
    ("padding in every sample", "No sample is as long as can be.", lambda c: max(c.lengths) < c.max_length),
    ("one length", "A batch of one.", lambda c: len(c.lengths) == 1),
    ("one token in a sample", "All but one of a sample are padding.", lambda c: 1 in c.lengths),
)
