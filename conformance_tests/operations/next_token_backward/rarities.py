"""Rarities of the gradient of the loss of next tokens."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values
from veriformer.conformance_tests.operations.every.rarities import ANY_VALUES

_VALUE = ("grad_logits",)
NEXT_TOKENS_BACKWARD = (
    *of_values(_VALUE, "grad_output", "minus_zero subnormal zero negative small large"),
    *of_sizes(_VALUE, "length", (18, 65, 129), batch=1, classes=5),
    *of_sizes(_VALUE, "batch", (5, 17), length=3, classes=4),
    *(
        Rarity(_VALUE, {"batch": 1, "length": 3, "classes": size}, (("tokens", "last"),))
        for size in (129, 257, 1001, 32770)
    ),
    *of_values(_VALUE, "logits", f"{ANY_VALUES} huge far_below hundred ties", batch=2, length=3, classes=5),
)
