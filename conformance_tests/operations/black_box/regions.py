"""Regions of models as black boxes."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among

REGIONS = among(
    ("model",),
    ("padded model", "Some inputs of the model are padding.", lambda c: c.padded),
    ("model padded on the left", "The padding comes first.", lambda c: c.padded and c.side == "left"),
    ("one token of a model", "A sequence of one.", lambda c: c.length == 1),
)
