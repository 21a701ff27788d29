"""Rarities of dropout."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.every.rarities import OF_VECTORS, SHAPES, VALUE

ENTRIES = (
    *of_values(VALUE, "x", f"{OF_VECTORS} large hundred", batch=3, rows=2, width=5),
    *of_sizes(VALUE, "width", (129, 1025), batch=1, rows=2),
    *SHAPES,
    *(Rarity(VALUE, {"rate": rate}) for rate in (0.01, 0.3, 0.75, 0.9, 0.95)),
)
