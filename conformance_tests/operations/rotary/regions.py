"""Regions of rotary embeddings."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import Region, among
from veriformer.conformance_tests.operations.every.regions import with_gradients

_ROTARY = with_gradients("rotary_embedding")
REGIONS = (
    *among(
        _ROTARY,
        ("positions of all samples", "One row of positions for the batch.", lambda c: not c.per_sample),
        (
            "positions of each sample",
            "Samples have positions of their own.",
            lambda c: c.per_sample and c.batch > 1 < c.length,
        ),
        ("another base", "A base is given, and several pairs.", lambda c: c.base is not None and c.width > 2),
        ("no base", "The standard base, and several pairs.", lambda c: c.base is None and c.width > 2),
        ("a part turns", "Some components stay.", lambda c: c.rotary_dim is not None and c.rotary_dim < c.width),
        (
            "a part of several pairs turns",
            "Some components stay, and several pairs do not.",
            lambda c: c.rotary_dim is not None and 2 < c.rotary_dim < c.width,
        ),
        ("one pair", "Two components: one angle.", lambda c: c.width == 2),
        ("several pairs", "Several angles.", lambda c: c.width > 2),
        ("many pairs", "64 components.", lambda c: c.width == 64),
        ("heads differ from length", "Neither axis passes for the other.", lambda c: 1 < c.heads != c.length > 1),
        ("one row", "One vector in each head.", lambda c: c.length == 1),
    ),
    Region(
        "positions other than zero",
        "Vectors that turn.",
        _ROTARY,
        inputs=lambda given: bool((given.positions != 0).any()),
    ),
    Region(
        "positions that 16 bits do not count",
        "A position beyond 256.",
        _ROTARY,
        lambda c: c.furthest > 256,
        lambda given: bool((given.positions > 256).any()),
    ),
)
