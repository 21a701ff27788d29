"""Rarities of normalisation."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_values
from veriformer.conformance_tests.operations.every.rarities import OF_VECTORS, SHAPES, VALUE, widths

GAINS = "some_negative negative some_zero zero one half minus_zero subnormal fraction small whole positive"


RMS_NORM = (
    *of_values(VALUE, "x", f"{OF_VECTORS} large", batch=3, rows=2, width=5),
    *of_values(VALUE, "gamma", f"{GAINS} large", batch=2, rows=2, width=6),
    *of_values(VALUE, "gamma", "some_negative fraction", batch=2, rows=1, width=64),
    *(Rarity(VALUE, {"width": 5, "eps": eps}) for eps in (1e-6, 1e-8, 1e-12)),
    *widths(most=4097),
    *SHAPES,
)
LAYER_NORM = (
    *RMS_NORM,
    *of_values(VALUE, "beta", f"{GAINS} large hundred", batch=2, rows=2, width=6),
    Rarity(VALUE, {"batch": 2, "rows": 2, "width": 6}, (("gamma", "same_as_beta"),)),
    Rarity(VALUE, {"batch": 2, "rows": 2, "width": 1}),
)
