"""Rarities of softmax."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import of_values
from veriformer.conformance_tests.operations.every.rarities import OF_VECTORS, SHAPES, VALUE, widths

SOFTMAX = (
    *of_values(VALUE, "x", f"{OF_VECTORS} large huge far_below hundred ties", batch=3, rows=2, width=5),
    *widths(most=33000),
    *SHAPES,
)
