"""Rarities of the gradient of the table of token embeddings."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.every.rarities import ANY_VALUES

_VALUE = ("grad_table",)
EMBEDDINGS_BACKWARD = (
    *of_sizes(_VALUE, "batch", (5, 17), length=2, vocabulary=7, width=3),
    *of_sizes(_VALUE, "length", (17, 65, 129, 513), batch=1, vocabulary=7, width=3),
    *of_sizes(_VALUE, "width", (64, 65, 129, 513), batch=2, length=3, vocabulary=5),
    *(
        Rarity(_VALUE, {"batch": 2, "length": 3, "vocabulary": size, "width": 2}, (("tokens", "last"),))
        for size in (129, 257, 1001, 32770, 65540)
    ),
    *of_values(_VALUE, "grad_output", f"{ANY_VALUES} huge whole", batch=2, length=4, vocabulary=5, width=3),
    *of_values(_VALUE, "table", "minus_zero subnormal zero small huge", batch=2, length=4, vocabulary=5, width=3),
)
