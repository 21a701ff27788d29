"""Rarities of sinusoids."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes

_VALUES = ("values",)
SINUSOIDS = (
    *of_sizes(_VALUES, "length", (65, 129, 513, 1025, 2049, 4097), d_model=4),
    *of_sizes(_VALUES, "d_model", (64, 66, 128, 256, 514, 768, 1026), length=3),
    Rarity(_VALUES, {"length": 130, "d_model": 130}),
)
