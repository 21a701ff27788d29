"""Rarities of the loss of next tokens."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.every.rarities import ANY_VALUES, VALUE

NEXT_TOKENS = (
    *of_sizes(VALUE, "length", (18, 65, 129), batch=1, classes=5),
    *of_sizes(VALUE, "batch", (5, 17), length=3, classes=4),
    *(
        Rarity(VALUE, {"batch": 1, "length": 3, "classes": size}, (("tokens", "last"),))
        for size in (129, 257, 1001, 32770)
    ),
    *of_values(VALUE, "logits", f"{ANY_VALUES} huge far_below hundred ties", batch=2, length=3, classes=5),
)
